import { describe, expect, it } from 'vitest';
import { explainInChild } from '../../src/service/program/explain-in-child.ts';
import { exchangeFileHead } from '../../src/tools/files/exchange-file.ts';

import { serviceMain } from '../support/service-main.ts';

const limits = { timeoutMs: 60_000, maxOutputBytes: 1024 * 1024 };
const exchange = JSON.stringify({
  ...exchangeFileHead,
  profile: 'generic',
  started_at: '2026-01-01T00:00:00.000Z',
  client_request: {
    method: 'POST',
    path: '/v1/responses',
    headers: [{ name: 'content-type', value: 'application/json' }],
    body: JSON.stringify({ model: 'm', instructions: 'Be brief.', input: [{ role: 'user', content: 'Hi' }] }),
  },
  chat_request: null,
  chat_response: null,
  client_response: null,
  dropped: [],
  outcome: 'completed',
  error: null,
});
const never = new AbortController().signal;

describe('an explanation in a process of its own', () => {
  it('says what became of the fields', async () => {
    const { fields } = JSON.parse(await explainInChild(exchange, never, limits, serviceMain.main));
    const becomes = fields.map((field: { field: string; becomes: { path: string }[] }) => [
      field.field,
      ...field.becomes.map(({ path }) => path),
    ]);
    expect(becomes).toContainEqual(['input[0]', 'messages[1]']);
  });

  it('says why it cannot be made', async () => {
    const notWhole = JSON.stringify({ ...exchangeFileHead });
    await expect(explainInChild(notWhole, never, limits, serviceMain.main)).rejects.toThrow(
      /^explain: not a whole exchange:/,
    );
  });

  it('ends when it takes too long, writes too much, or nobody waits for it', async () => {
    const within = { ...limits, timeoutMs: 1 };
    await expect(explainInChild(exchange, never, within, serviceMain.main)).rejects.toThrow(
      /^Explaining it took longer than 0.001 s, or too much memory\.$/,
    );
    const short = { ...limits, maxOutputBytes: 100 };
    await expect(explainInChild(exchange, never, short, serviceMain.main)).rejects.toThrow(
      /^The explanation is longer than 100 bytes\.$/,
    );
    const gone = new AbortController();
    const explained = explainInChild(exchange, gone.signal, limits, serviceMain.main);
    gone.abort();
    await expect(explained).rejects.toThrow(/abort/);
  });
});
