import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createExplainer } from '../../src/program/explainer.ts';
import { exchangeFileHead } from '../../src/tools/files/exchange-file.ts';
import type { ExplainedRequest } from '../../src/tools/inspect/exchange-json.ts';
import type { Explainer } from '../../src/tools/inspect/explain-once.ts';

const usual = { timeoutMs: 60_000, heapMiB: 256, restAfterMs: 60_000 };

function request(body: string, method = 'POST'): ExplainedRequest {
  const headers = [{ name: 'content-type', value: 'application/json' }];
  const file = {
    ...exchangeFileHead,
    profile: 'generic',
    started_at: '2026-01-01T00:00:00.000Z',
    client_request: { method, path: '/v1/responses', headers, body: '' },
    ...{ chat_request: null, chat_response: null, client_response: null },
    ...{ dropped: [], outcome: 'completed', error: null },
  };
  return { file, body: Buffer.from(body) };
}

const small = request(
  JSON.stringify({ model: 'm', instructions: 'Be brief.', input: [{ role: 'user', content: 'Hi' }] }),
);
const never = new AbortController().signal;

let explainer: Explainer | undefined;
afterEach(() => explainer?.close());

function start(limits: Partial<typeof usual> = {}): Explainer {
  explainer = createExplainer({ ...usual, ...limits });
  return explainer;
}

async function fieldsOf(asked: Explainer, of = small, signal = never) {
  const { fields } = JSON.parse(gunzipSync(await asked.explain(of, signal)).toString());
  return fields.map((field: { field: string; becomes: { path: string }[] }) => [
    field.field,
    ...field.becomes.map(({ path }) => path),
  ]);
}

describe('an explanation in a process beside the service', () => {
  it('says what became of the fields, of one request after the other', async () => {
    const asked = start();
    asked.prepare();
    expect(await fieldsOf(asked)).toContainEqual(['input[0]', 'messages[1]']);
    const other = request(JSON.stringify({ model: 'm', input: [{ role: 'user', content: 'Hi' }] }));
    expect(await fieldsOf(asked, other)).toContainEqual(['input[0]', 'messages[0]']);
  });

  it('is of a request that cannot be read, too', async () => {
    const gzip = await start().explain(request('no JSON'), never);
    expect(JSON.parse(gunzipSync(gzip).toString())).toMatchObject({ outcome: 'refused', refusals: [{ status: 400 }] });
  });

  it('says why it cannot be made', async () => {
    const asked = start();
    const unknown = { ...small, file: { ...small.file, profile: 'nobody' } };
    await expect(asked.explain(unknown, never)).rejects.toThrow(/nobody/);
    expect(await fieldsOf(asked)).toContainEqual(['input[0]', 'messages[1]']);
  });

  it('ends when it takes too long', async () => {
    const failed = start({ timeoutMs: 1 });
    await expect(failed.explain(small, never)).rejects.toThrow(
      /^Explaining it took longer than 0.001 s, or too much memory\.$/,
    );
  });

  it('ends when it takes too much memory, and the next one has another process', async () => {
    const asked = start({ heapMiB: 40 });
    asked.prepare();
    const input = Array.from({ length: 6 }, () => ({ role: 'user', content: 'x'.repeat(2 ** 23) }));
    await expect(asked.explain(request(JSON.stringify({ model: 'm', input })), never)).rejects.toThrow(
      /too much memory\.$/,
    );
    expect(await fieldsOf(asked)).toContainEqual(['input[0]', 'messages[1]']);
  });

  it('ends when nobody waits for it', async () => {
    const asked = start();
    const gone = new AbortController();
    const explained = asked.explain(small, gone.signal);
    gone.abort();
    await expect(explained).rejects.toThrow(/abort/);
    expect(await fieldsOf(asked)).toContainEqual(['input[0]', 'messages[1]']);
  });

  it('is made for a page that was closed before and comes back', async () => {
    const asked = start({ restAfterMs: 0 });
    asked.prepare();
    asked.rest();
    await new Promise((resolve) => setTimeout(resolve, 10));
    asked.prepare();
    expect(await fieldsOf(asked)).toContainEqual(['input[0]', 'messages[1]']);
  });
});
