import { describe, expect, test } from 'vitest';
import { type HttpMessage, play } from '../../../../support/envoy-model.ts';

const request: HttpMessage = {
  headers: { ':method': 'POST', ':path': '/v1/responses' },
  pieces: [Buffer.from('{"model":"m","input":"Hi"}')],
};
const chunk = (choice: object, more: object = {}) => `data: ${JSON.stringify({ choices: [choice], ...more })}\n\n`;
const begun = chunk({ index: 0, delta: { content: 'Once upon' } });
const answer = (text: string): HttpMessage => ({
  headers: { ':status': '200', 'content-type': 'text/event-stream' },
  pieces: [Buffer.from(text)],
});
const modes = ['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const;

describe.each(modes)('a client that asked for JSON and an upstream that streams, response body mode %s', (mode) => {
  const read = (text: string) => {
    const { client } = play(request, answer(text), { modes: { request: 'BUFFERED', response: mode } });
    return { status: client.headers.get(':status'), body: JSON.parse(String(client.body)) };
  };

  test.each([
    ['that is cut off', begun, 'upstream_stream_truncated', 502],
    ['that fails', begun + chunk({ index: 0, delta: {}, finish_reason: 'error' }), 'upstream_error', 502],
    ['with an error in a chunk', `${begun}data: {"error":{"message":"no","code":429}}\n\n`, 'rate_limit_exceeded', 429],
    ['that says nothing', ': ping\n\n', 'invalid_upstream_response', 502],
  ])('of a stream %s the error is the answer, not half of the text under a 200', (_name, text, code, status) => {
    const { status: given, body } = read(text);
    if (mode === 'STREAMED') {
      // The headers have gone: what is left to say is a response that failed.
      expect([given, body.status, body.error.code]).toEqual(['200', 'failed', code]);
    } else expect([given, body.error.code]).toEqual([String(status), code]);
  });

  test('of a stream that came to its limit the answer is incomplete', () => {
    const { status, body } = read(begun + chunk({ index: 0, delta: {}, finish_reason: 'length' }));
    expect([status, body.status, body.output[0].content[0].text]).toEqual(['200', 'incomplete', 'Once upon']);
  });
});
