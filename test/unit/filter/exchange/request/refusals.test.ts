import { expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../../../../src/filter/exchange/options.ts';
import type { BodyMode, ExchangeReply, RequestEvent } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../../support/exchange-options.ts';
import { remedy } from '../../../../support/remedy.ts';

type Options = Partial<ExchangeOptions> & { readonly profile?: string };

const tiny = { ...exchangeOptions().bodyLimits, maxRequestBytes: 10 };
const azure = '/openai/deployments/{model}/chat/completions';

function headers(more: Readonly<Record<string, string>> = {}, endOfStream = false): RequestEvent {
  const all = { ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'req-1', ...more };
  return { type: 'request_headers', headers: headersOf(all), endOfStream };
}
function body(text: string, endOfStream = true): RequestEvent {
  return { type: 'request_body', body: Buffer.from(text), endOfStream };
}
function modes(request: BodyMode, response: BodyMode = 'BUFFERED'): Options {
  return { modes: { request, response } };
}
/** The last reply, which must be the refusal: nothing but replies that change nothing came before it. */
function refusalOf(events: readonly RequestEvent[], options: Options): Extract<ExchangeReply, { status: number }> {
  const exchange = new Exchange(exchangeOptions(options));
  const last = events.flatMap((event) => [...exchange.handle(event)]).at(-1);
  if (last?.type !== 'immediate_response') throw new Error(`the last reply is ${last?.type}`);
  return last;
}

const tooLarge = [
  413,
  'invalid_request',
  'request_too_large',
  "The request body is larger than 10 bytes. Shorten 'input', or send fewer files.",
] as const;
const misconfigured = (why: string) =>
  [500, 'server_error', 'proxy_misconfigured', `The proxy is not configured for translation: ${why}.`] as const;

test.each<[string, readonly RequestEvent[], Options, readonly [number, string, string, string]]>([
  [
    'no body',
    [headers({}, true)],
    {},
    [400, 'invalid_request', 'missing_body', 'The request has no body. Send one JSON object.'],
  ],
  [
    'a preflight with a body',
    [headers({ ':method': 'OPTIONS' })],
    {},
    [400, 'invalid_request', 'unexpected_body', 'An OPTIONS request cannot have a body here. Leave the body out.'],
  ],
  ['an announced body that is too large', [headers({ 'content-length': '11' })], { bodyLimits: tiny }, tooLarge],
  ['a body that is too large', [headers(), body('x'.repeat(11))], { bodyLimits: tiny }, tooLarge],
  [
    'pieces that are too large together',
    [headers(), body('123456', false), body('78901')],
    { bodyLimits: tiny },
    tooLarge,
  ],
  [
    'a body that the proxy could not buffer',
    [headers(), body('{', false)],
    modes('BUFFERED_PARTIAL'),
    [
      413,
      'invalid_request',
      'request_too_large',
      "The request body is larger than the proxy’s buffer (request body mode BUFFERED_PARTIAL). Shorten 'input', or send fewer files.",
    ],
  ],
  [
    'trailers where the body has been answered',
    [headers(), body('{}', false), { type: 'request_trailers' }],
    modes('STREAMED'),
    [
      400,
      'invalid_request',
      'unsupported_trailers',
      'A request with trailers cannot be translated in the request body mode STREAMED. Send the request without trailers.',
    ],
  ],
  ['no request bodies', [headers()], modes('NONE'), misconfigured('the request body mode is NONE')],
  ['no response bodies', [headers()], modes('BUFFERED', 'NONE'), misconfigured('the response body mode is NONE')],
  ...(['STREAMED', 'BUFFERED_PARTIAL'] as const).map(
    (mode) =>
      [
        `a path with the model in ${mode}`,
        [headers()],
        { ...modes(mode), upstreamPath: azure },
        misconfigured(`the upstream's path contains the model, which is known too late in request body mode ${mode}`),
      ] as const,
  ),
] as [string, readonly RequestEvent[], Options, readonly [number, string, string, string]][])(
  'a request is refused for %s',
  (_, events, options, [status, type, code, message]) => {
    const refusal = refusalOf(events, { ...modes('FULL_DUPLEX_STREAMED'), ...options });
    expect(refusal.status).toBe(status);
    // What is wrong with the proxy is not the client's to mend.
    if (status < 500) expect(message).toMatch(remedy);
    expect(JSON.parse(String(refusal.body))).toEqual({ error: { type, code, param: null, message } });
    expect(refusal.headers).toEqual({ 'content-type': 'application/json', 'x-request-id': 'req-1' });
    expect(refusal.details).toBe(`responses_extproc:${code}`);
  },
);

test.each([10, 11])('a body of exactly the limit is read: %i bytes', (size) => {
  const bodyLimits = { ...tiny, maxRequestBytes: size };
  const announced = headers({ 'content-length': String(size) });
  // It is no JSON, which nobody would know without reading it.
  const { status, body: error } = refusalOf([announced, body('x'.repeat(size))], { bodyLimits });
  expect([status, JSON.parse(String(error)).error.code]).toEqual([400, 'invalid_json']);
});

test.each(['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const)('a path with the model is no problem in %s', (request) => {
  const options = { ...modes(request), upstreamPath: azure };
  const exchange = new Exchange(exchangeOptions(options));
  const replies = [headers(), body('{"model":"m 1","input":"x"}')].flatMap((event) => [...exchange.handle(event)]);
  const set = replies.flatMap((reply) => ('headers' in reply ? [reply.headers] : []));
  expect(set).toMatchObject([{ set: { ':path': '/openai/deployments/m%201/chat/completions' } }]);
});
