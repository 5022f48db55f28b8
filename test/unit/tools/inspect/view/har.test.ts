import { expect, it } from 'vitest';
import { exchangeFileHead } from '../../../../../src/tools/files/exchange-file.ts';
import { buildHar } from '../../../../../src/tools/inspect/view/exports.ts';
import type { ExchangeDetail } from '../../../../../src/tools/inspect/view/join-parts.ts';
import { harProblems } from '../../../../support/har.ts';

const headers = [{ name: 'content-type', value: 'application/json' }];
const file = {
  ...exchangeFileHead,
  profile: 'generic',
  started_at: '2026-01-01T00:00:00.000Z',
  client_request: { method: 'POST', path: '/v1/responses?limit=2', headers, body: '{"input":"é"}' },
  chat_request: {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: [...headers, { name: 'host', value: 'llm.example:8000' }],
    base64: '/w==',
  },
  chat_response: {
    status: 200,
    headers,
    pieces: [
      { at_ms: 5, text: '{"a":' },
      { at_ms: 8, text: '1}' },
    ],
  },
  client_response: {
    status: 200,
    headers,
    pieces: [
      { at_ms: 6, base64: '/w==' },
      { at_ms: 8, text: 'é' },
    ],
  },
  dropped: [],
  outcome: 'completed',
  error: null,
} as const;
const detail = { row: { duration_ms: 9 }, file } as unknown as ExchangeDetail;

interface Har {
  readonly log: { readonly entries: readonly Record<string, Record<string, unknown>>[] };
}

it('an exchange is a valid HTTP archive, with the client’s side and the upstream’s', () => {
  const har = buildHar([detail], 'http://127.0.0.1:10000', '1.2.3') as Har;
  expect(harProblems(har)).toEqual([]);
  const [client, upstream] = har.log.entries;
  expect(client).toMatchObject({
    time: 9,
    request: {
      url: 'http://127.0.0.1:10000/v1/responses?limit=2',
      queryString: [{ name: 'limit', value: '2' }],
      bodySize: 14,
      postData: { mimeType: 'application/json', text: '{"input":"é"}' },
    },
    response: { content: { size: 3, text: '/8Op', encoding: 'base64' } },
    timings: { wait: 6, receive: 3 },
  });
  expect(upstream).toMatchObject({
    request: { url: 'http://llm.example:8000/v1/chat/completions', postData: { text: '/w==', comment: 'in base64' } },
    response: { content: { size: 7, text: '{"a":1}' } },
  });
});

it('an upstream that the request does not name is not taken for the proxy', () => {
  const file = { ...detail.file, chat_request: { ...detail.file.chat_request, headers } };
  const har = buildHar([{ ...detail, file } as ExchangeDetail], 'http://127.0.0.1:10000', '1.2.3') as Har;
  expect(har.log.entries[1]).toMatchObject({ request: { url: 'http://upstream/v1/chat/completions' } });
});

it('so is one that was refused, or has no answer', () => {
  const refused = { row: { duration_ms: null }, file: { ...file, chat_request: null, chat_response: null } };
  const unanswered = { row: { duration_ms: 3 }, file: { ...file, chat_response: null, client_response: null } };
  const har = buildHar([refused, unanswered] as unknown as ExchangeDetail[], 'http://localhost:1', '1') as Har;
  expect(harProblems(har)).toEqual([]);
  expect(har.log.entries.map(({ response }) => response?.['status'])).toEqual([200, 0, 0]);
});
