import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { BodyModes } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../../support/exchange-options.ts';

/** The headers set on the request to the upstream. */
function headersSet(
  key: unknown,
  sessionHeader: string | null,
  request: BodyModes['request'] = 'BUFFERED',
): Readonly<Record<string, string>> {
  const exchange = new Exchange(
    exchangeOptions({ sessionHeader, modes: { request, response: 'FULL_DUPLEX_STREAMED' } }),
  );
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x', prompt_cache_key: key }));
  const replies = [
    ...exchange.handle({ type: 'request_headers', headers, endOfStream: false }),
    ...exchange.handle({ type: 'request_body', body, endOfStream: true }),
  ];
  return Object.assign({}, ...replies.map((reply) => ('headers' in reply ? reply.headers?.set : {})));
}

describe('the session header', () => {
  it.each(['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const)('carries the cache key, in %s', (mode) => {
    expect(headersSet('thread-1', 'x-session-affinity', mode)).toMatchObject({ 'x-session-affinity': 'thread-1' });
  });

  it('carries any key, as printable ASCII', () => {
    const value = headersSet('Gezeiten für\r\nBrest \ud800', 'x-session-affinity')['x-session-affinity'];
    expect(value).toMatch(/^[\w-]+$/);
  });

  it('is the same for the same key, and another for another', () => {
    const values = ['ä', 'ä', 'ö'].map((key) => headersSet(key, 'x-session-affinity')['x-session-affinity']);
    expect(values[0]).toBe(values[1]);
    expect(values[0]).not.toBe(values[2]);
  });

  it.each([null, ''])('is not set for the key %j', (key) => {
    expect(headersSet(key, 'x-session-affinity')).not.toHaveProperty('x-session-affinity');
  });

  describe('of a request without a key', () => {
    const hashed = (
      body: object,
      secret: string | null = 'a secret of sixteen',
      header: string | null = 'x-session',
    ) => {
      const exchange = new Exchange(
        exchangeOptions({ sessionHeader: header, sessionHashKey: secret, profile: 'vllm' }),
      );
      const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
      const sent = Buffer.from(JSON.stringify({ model: 'm', ...body }));
      const replies = [
        ...exchange.handle({ type: 'request_headers', headers, endOfStream: false }),
        ...exchange.handle({ type: 'request_body', body: sent, endOfStream: true }),
      ];
      expect(replies.map(({ type }) => type)).not.toContain('immediate_response');
      return Object.assign({}, ...replies.map((reply) => ('headers' in reply ? reply.headers?.set : {})))['x-session'];
    };
    const tools = [{ type: 'function', name: 'look' }];
    const first = { instructions: 'Be brief.', tools, input: [{ role: 'user', content: 'Hi' }] };
    const second = {
      ...first,
      input: [...first.input, { role: 'assistant', content: 'Hello.' }, { role: 'user', content: 'And now?' }],
    };

    it('is the same for each request of a conversation', () => {
      expect(hashed(first)).toMatch(/^[\w-]{43}$/);
      expect(hashed(second)).toBe(hashed(first));
    });

    it.each([
      ['the model', { ...first, model: 'n' }],
      ['the instructions', { ...first, instructions: 'Be long.' }],
      ['the tools', { ...first, tools: [] }],
      ['one of the tools', { ...first, tools: [{ type: 'function', name: 'see' }] }],
      ['the first message', { ...first, input: 'Ho' }],
    ])('is another where %s is another', (_what, body) => {
      expect(hashed(body)).not.toBe(hashed(first));
    });

    it('is the same without tools, however that is written', () => {
      const { tools: _, ...without } = first;
      expect(hashed(without)).toBe(hashed({ ...first, tools: [] }));
    });

    it('is that of the whole beginning where no user has spoken', () => {
      const alone = { ...first, input: [{ role: 'developer', content: 'Hi' }] };
      expect(hashed({ ...first, input: [{ role: 'developer', content: 'Ho' }] })).not.toBe(hashed(alone));
    });

    it('is another under another secret, the key where there is one, and not set without a secret or a header', () => {
      expect(hashed(first, 'another secret, as long')).not.toBe(hashed(first));
      expect(hashed({ ...first, prompt_cache_key: 'thread-1' })).toBe('thread-1');
      expect(hashed(first, null)).toBeUndefined();
      expect(hashed(first, 'a secret of sixteen', null)).toBeUndefined();
    });
  });

  it('is not set unless it is configured', () => {
    expect(Object.values(headersSet('thread-1', null))).not.toContain('thread-1');
  });

  it('is not set where the headers leave before the body', () => {
    expect(headersSet('thread-1', 'x-session-affinity', 'STREAMED')).not.toHaveProperty('x-session-affinity');
  });
});
