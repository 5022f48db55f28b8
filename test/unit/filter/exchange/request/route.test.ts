import { describe, expect, test } from 'vitest';
import { chooseRoute, upstreamPath } from '../../../../../src/filter/exchange/request/route.ts';
import { catalog } from '../../../../../src/filter/translate/operations/catalog.ts';
import { compact } from '../../../../../src/filter/translate/operations/compaction.ts';
import { inputTokens } from '../../../../../src/filter/translate/operations/input-tokens.ts';
import { headersOf } from '../../../../support/exchange-options.ts';

function route(method: string, path: string, more: Record<string, string> = {}) {
  return chooseRoute(headersOf({ ':method': method, ':path': path, ...more }));
}

function pathFor(path: string, template = '/v1/chat/completions', model = 'm'): string {
  const found = route('POST', path);
  return found.type === 'translate' ? upstreamPath(template, found.path, model) : found.type;
}

describe('the route of a request', () => {
  test.each([
    ['/v1/responses', '/v1/chat/completions'],
    ['/v1/responses/', '/v1/chat/completions'],
    ['/v1/responses?stream=1&x=%20', '/v1/chat/completions'],
    ['/openai/v1/responses', '/openai/v1/chat/completions'],
    ['/a%2Fb/c/v1/responses', '/a%2Fb/c/v1/chat/completions'],
    ['/v1/%72esponses', '/v1/chat/completions'],
    ['/grüße/v1/responses', '/gr%C3%BC%C3%9Fe/v1/chat/completions'],
    ['/%76%31/responses?', '/v1/chat/completions'],
    ['/v1/responses?api-version=2024-10-21&x=1', '/v1/chat/completions?api-version=2024-10-21'],
  ])('POST %s goes to %s', (path, upstream) => expect(pathFor(path)).toBe(upstream));

  test('the upstream’s own base in the client’s path is not said twice', () => {
    const groq = '/openai/v1/chat/completions';
    expect(pathFor('/openai/v1/responses', groq)).toBe(groq);
    expect(pathFor('/team/openai/v1/responses', groq)).toBe(`/team${groq}`);
    expect(pathFor('/team/v1/responses', groq)).toBe(`/team${groq}`);
    expect(pathFor('/myopenai/v1/responses', groq)).toBe(`/myopenai${groq}`);
    expect(pathFor('/v1/responses', groq)).toBe(groq);
  });

  test('a path template holds the model, escaped, and may have a query of its own', () => {
    const template = '/openai/deployments/{model}/chat/completions';
    expect(pathFor('/v1/responses', template, 'gpt-4o')).toBe('/openai/deployments/gpt-4o/chat/completions');
    expect(pathFor('/v1/responses', template, 'a/b\r\nx: $&')).toBe(
      '/openai/deployments/a%2Fb%0D%0Ax%3A%20%24%26/chat/completions',
    );
    expect(pathFor('/v1/responses?api-version=1', `${template}?api-version=2`, 'm')).toMatch(/\?api-version=2$/);
  });

  test.each(['..', '.', '\ud800', 'a\udfffb'])('a model that cannot be a segment of a path is a 400: %j', (model) => {
    const template = '/openai/deployments/{model}/chat/completions';
    expect(() => pathFor('/v1/responses', template, model)).toThrow(
      expect.objectContaining({ status: 400, code: 'invalid_value', param: 'model' }),
    );
    expect(pathFor('/v1/responses', '/v1/chat/completions', model)).toBe('/v1/chat/completions');
  });

  test('no other model leaves its segment', () => {
    for (const model of ['...', '../x', 'a/../../b', '%2e%2e', '..;', 'a?b#c', ' ', '🎉', '.\\..'])
      expect(pathFor('/v1/responses', '/d/{model}/c', model), model).toMatch(/^\/d\/[^/?#\\]+\/c$/);
    expect(pathFor('/v1/responses', '/d/{model}/c', '%2e%2e')).toBe('/d/%252e%252e/c');
  });

  test.each([
    ['GET', '/v1/models'],
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/responses2'],
    ['POST', '/responses'],
    ['POST', '/v2/responses'],
    ['POST', '/v1/%zz/responses'],
    ['POST', '/'],
    ['CONNECT', ''],
  ])('%s %s passes', (method, path) =>
    expect(route(method, path)).toEqual({ type: 'pass', operation: null, withoutBody: false }),
  );

  test.each([
    '/v1/models?client_version=0.169.0',
    '/openai/v1/models/?x=1&client_version=1',
    '/v1/%6dodels?client_version=',
  ])('GET %s asks for a catalog', (path) =>
    expect(route('GET', path)).toEqual({ type: 'pass', operation: catalog, withoutBody: false }),
  );

  test.each([
    ['GET', '/v1/models'],
    ['GET', '/v1/models?limit=1&my_client_version=1'],
    ['POST', '/v1/models?client_version=1'],
    ['HEAD', '/v1/models?client_version=1'],
    ['GET', '/v1/models/m?client_version=1'],
    ['GET', '/models?client_version=1'],
  ])('%s %s does not', (method, path) =>
    expect(route(method, path)).toEqual({ type: 'pass', operation: null, withoutBody: false }),
  );

  test('OPTIONS /v1/responses passes, but not with a body', () =>
    expect(route('OPTIONS', '/v1/responses')).toEqual({ type: 'pass', operation: null, withoutBody: true }));

  test.each([
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/responses/resp_1'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['GET', '/v1/responses/resp_1/input_items?limit=1'],
    ['POST', '/x/v1/conversations'],
    ['GET', '/v1/conversations/conv_1/items'],
  ])('%s %s: nothing is stored', (method, path) => {
    const what = path.includes('conversations') ? 'Conversations' : 'Responses';
    expect(route(method, path)).toMatchObject({
      type: 'refuse',
      error: {
        status: 404,
        type: 'not_found',
        code: 'not_found',
        message: expect.stringContaining(`${what} are not stored here`),
      },
    });
  });

  test.each([
    ...['/v1/responses;x', '/v1/responses;jsessionid=1/', '/v1/responses%20', '/v1/responses%3Bx', '/V1/Responses'],
    ...['/v1//responses', '/v1/./responses', '/v1/x/../responses', '/v1/x/%2e%2e/responses', '/v1%2Fresponses'],
    ...['/v1\\responses', '/x/v1/RESPONSES/compact', '/v1;a=b/responses', '/v1/responses%00', '/v1/Conversations'],
  ])('%s is another spelling of a path: it is refused, whatever a lenient upstream would take it for', (path) => {
    for (const method of ['POST', 'GET'])
      expect(route(method, path)).toMatchObject({
        type: 'refuse',
        error: {
          status: 404,
          type: 'not_found',
          code: 'not_found',
          message: expect.stringContaining('Did you mean /v1/'),
        },
      });
  });

  test('/v1/responses/compact is an endpoint of its own', () => {
    const path = { prefix: '/x', apiVersion: '' };
    expect(route('POST', '/x/v1/responses/compact/?y=1')).toEqual({ type: 'translate', operation: compact, path });
    expect(route('GET', '/v1/responses/compact')).toMatchObject({
      type: 'refuse',
      error: { status: 405, message: expect.stringContaining('/v1/responses/compact: use POST') },
    });
    expect(route('POST', '/v1/responses/compact/x')).toMatchObject({ type: 'refuse', error: { status: 404 } });
  });

  test('/v1/responses/input_tokens is another', () => {
    const path = { prefix: '', apiVersion: '' };
    expect(route('POST', '/v1/responses/input_tokens')).toEqual({ type: 'translate', operation: inputTokens, path });
    expect(route('GET', '/v1/responses/input_tokens')).toMatchObject({ type: 'refuse', error: { status: 405 } });
  });

  test('GET of /v1/responses is the list of what is stored: nothing', () => {
    expect(route('GET', '/v1/responses?limit=2')).toMatchObject({
      type: 'refuse',
      error: { status: 404, message: expect.stringContaining('Responses are not stored here') },
    });
  });

  test.each(['PUT', 'DELETE', 'HEAD', 'PATCH'])('%s is not a method of /v1/responses', (method) => {
    expect(route(method, '/v1/responses')).toMatchObject({
      type: 'refuse',
      error: { status: 405, type: 'invalid_request', code: 'method_not_allowed', headers: { allow: 'POST' } },
    });
  });

  test('a WebSocket is told to use HTTP, in both versions’ ways of asking', () => {
    const error = { status: 426, type: 'invalid_request', code: 'websocket_not_supported' };
    const refused = { type: 'refuse', error };
    expect(route('GET', '/v1/responses', { upgrade: 'WebSocket', connection: 'upgrade' })).toMatchObject(refused);
    expect(route('CONNECT', '/v1/responses', { ':protocol': 'websocket' })).toMatchObject(refused);
    expect(route('GET', '/chat', { upgrade: 'websocket' })).toMatchObject({ type: 'pass' });
  });

  test('no header of a request chooses anything', () => {
    const headers = { 'x-upstream-path': '/evil', 'x-upstream-profile': 'openai', 'x-original-path': '/evil' };
    expect(route('POST', '/v1/responses', headers)).toEqual(route('POST', '/v1/responses'));
  });
});
