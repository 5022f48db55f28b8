import { describe, expect, it } from 'vitest';
import { isCredential, redactHeaders, redactionMark, redactMutation, redactPath } from '../../../src/inspect/redact.ts';
import { redactBody } from '../../../src/inspect/redact-body.ts';

function redacted(body: string): string {
  return Buffer.from(redactBody(Buffer.from(body))).toString('utf8');
}

describe('what is never kept', () => {
  it.each([
    ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key', 'api-key', 'x-goog-api-key'],
    ...['x-amz-security-token', 'ocp-apim-subscription-key', 'x-auth-token', 'x-client-secret', 'openai-password'],
    ...[
      'X-Api-Key',
      'x-vendor-credentials',
      'x-signature',
      'x-access-token',
      'x-goog-iam-authorization-token',
      'apikey',
    ],
  ])('the value of %s', (name) => {
    expect(isCredential(name)).toBe(true);
    expect(redactHeaders(new Map([[name, 'sk-1']]))).toEqual([name, redactionMark]);
    expect(redactMutation({ set: { [name]: 'sk-1' } })).toEqual({ set: [name, redactionMark], remove: [] });
  });

  it.each([
    ...['content-type', 'user-agent', 'x-request-id', 'x-ratelimit-remaining-tokens', 'openai-organization', 'accept'],
    ...['session_id', 'traceparent', 'x-responses-dropped', 'www-authenticate', 'monkey', 'x-stainless-os'],
  ])('%s is kept', (name) => {
    expect(redactHeaders(new Map([[name, 'x']]))).toEqual([name, 'x']);
  });

  it('of the pseudo headers the method, the path without what is secret in it, and the status are', () => {
    const headers = new Map(
      Object.entries({ ':path': '/v1?key=sk-1', ':authority': 'a', ':method': 'GET', ':status': '200' }),
    );
    const kept = [':path', `/v1?key=${redactionMark}`, ':method', 'GET', ':status', '200'];
    expect(redactHeaders(headers)).toEqual(kept);
    expect(redactMutation({ set: Object.fromEntries(headers) })).toEqual({ set: kept, remove: [] });
  });

  it.each([
    ['/v1/responses', '/v1/responses'],
    ['/v1/responses?api-version=2026-01-01', '/v1/responses?api-version=2026-01-01'],
    ['/v1/responses?key=sk-1&api-version=1&x', `/v1/responses?key=${redactionMark}&api-version=1&x`],
    ['/v1/responses?a=b=c?d', `/v1/responses?a=${redactionMark}`],
  ])('query values of %s, unless they are known to be harmless', (path, kept) => {
    expect(redactPath(path)).toBe(kept);
  });

  it('credentials of an MCP server in a tool', () => {
    const tool = {
      type: 'mcp',
      authorization: 'tok\\"en',
      headers: { Authorization: 'Bearer x', 'X-Api-Key': 'y', Accept: 'z' },
    };
    const body = JSON.stringify({ input: 'my password: "hunter2"', tools: [tool], prompt_cache_key: 'k' });
    const kept = JSON.parse(redacted(body));
    expect(kept).toEqual({
      input: 'my password: "hunter2"',
      tools: [
        {
          type: 'mcp',
          authorization: redactionMark,
          headers: { Authorization: redactionMark, 'X-Api-Key': redactionMark, Accept: 'z' },
        },
      ],
      prompt_cache_key: 'k',
    });
  });

  it.each([
    ['{"authorization" : "a\\\\", "x": 1}', `{"authorization" : "${redactionMark}", "x": 1}`],
    [
      '{"a":{"api-key":\n"sk\\"1"},"password":"p","n":1}',
      `{"a":{"api-key":\n"${redactionMark}"},"password":"${redactionMark}","n":1}`,
    ],
    ['{"password":7,"cookie":null,"x":"password:y"}', '{"password":7,"cookie":null,"x":"password:y"}'],
    ['{"password":"cut off', `{"password":"${redactionMark}"`],
    [':', ':'],
    ['"":"', '"":"'],
  ])('in JSON written in any way, or cut: %s', (body, kept) => {
    expect(redacted(body)).toBe(kept);
  });

  it.each([
    ...[
      'authorization',
      'Proxy-Authorization',
      'cookie',
      'Set-Cookie',
      'api_key',
      'apikey',
      'API-KEY',
      'x-goog-api-key',
    ],
    ...[
      'access_token',
      'refreshToken',
      'auth-token',
      'id_token',
      'Bearer_Token',
      'security-token',
      'x-amz-security-token',
    ],
    ...['client_secret', 'clientSecret', 'password', 'PASSWORD'],
  ])('the text of a field %s, without decoding the rest', (name) => {
    expect(redacted(`{"é":"𝄞","${name}":"sk-1","b":["\\ud834"]}`)).toBe(
      `{"é":"𝄞","${name}":"${redactionMark}","b":["\\ud834"]}`,
    );
    const noText = Buffer.from([0xff, 0x3a, 0xfe, ...Buffer.from(`{"${name}":"sk-1"}`), 0x80]);
    expect([...redactBody(noText)]).toEqual([0xff, 0x3a, 0xfe, ...Buffer.from(`{"${name}":"${redactionMark}"}`), 0x80]);
  });

  it('a schema that describes such a field stays as it is', () => {
    const body = '{"properties":{"api_key":{"type":"string"},"token":{"type":"string"}},"thought_signature":"abc"}';
    const bytes = Buffer.from(body);
    expect(redactBody(bytes)).toBe(bytes);
  });
});
