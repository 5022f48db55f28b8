import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import { readResponder } from '../../../../../src/filter/exchange/response/response-leg.ts';
import type { Attributes, ExchangeReply } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';

const told = (attributes: Readonly<Record<string, string>>): Attributes => new Map(Object.entries(attributes));
const rateLimited = told({
  'response.code_details': 'local_rate_limited',
  'request.id': 'req-7',
  'request.method': 'POST',
  'request.path': '/v1/responses?key=secret',
});

/** A response without or with a request before it, as Envoy sends both. */
function respond(status: number, attributes?: Attributes, before: 'nothing' | 'headers' | 'request' = 'nothing') {
  const exchange = new Exchange(exchangeOptions());
  if (before !== 'nothing') {
    const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'req-1' });
    repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  }
  if (before === 'request')
    repliesOf(exchange, { type: 'request_body', body: Buffer.from('{"model":"m","input":"Hi"}'), endOfStream: true });
  const body = status < 300 ? '' : '{"error":{"message":"Too fast","code":"rate_limit_exceeded"}}';
  const headers = headersOf({ ':status': String(status), ...(body && { 'content-type': 'application/json' }) });
  const more = attributes === undefined ? {} : { attributes };
  const replies = repliesOf(exchange, { type: 'response_headers', headers, endOfStream: body === '', ...more });
  if (body !== '')
    replies.push(...exchange.handle({ type: 'response_body', body: Buffer.from(body), endOfStream: true }));
  return { summary: exchange.summary(), replies };
}

const textOf = (replies: readonly ExchangeReply[]) =>
  replies.map((reply) => ('body' in reply && reply.body !== undefined ? String(reply.body) : '')).join('');

describe('an answer that Envoy makes before this filter has the request', () => {
  it('is a local reply, with what Envoy’s attributes tell of the request', () => {
    const { summary, replies } = respond(429, rateLimited);
    expect(summary).toMatchObject({ outcome: 'local_reply', status: 429, upstreamStatus: null, tokens: null });
    expect(summary).toMatchObject({ requestId: 'req-7', method: 'POST', path: '/v1/responses' });
    expect(replies[0]).toMatchObject({ headers: { set: { ':status': '429', 'x-request-id': 'req-7' } } });
    expect(JSON.parse(textOf(replies))).toMatchObject({ error: { code: 'rate_limit_exceeded', message: 'Too fast' } });
  });

  it('is one without attributes too', () => {
    expect(respond(401).summary).toMatchObject({ outcome: 'local_reply', status: 401, method: '', requestId: null });
  });

  it.each([200, 204, 302])('passes as it is without an error: %i, of CORS or of a login', (status) => {
    const { summary, replies } = respond(status, told({ 'response.code_details': 'direct_response' }));
    expect(summary).toMatchObject({ outcome: 'local_reply', status, errorCode: null });
    for (const reply of replies) expect(reply).not.toHaveProperty('headers');
    expect(textOf(replies)).toBe(status < 300 ? '' : '{"error":{"message":"Too fast","code":"rate_limit_exceeded"}}');
  });
});

describe.each(['headers', 'request'] as const)('an answer that Envoy makes after the %s', (before) => {
  it('is a local reply if Envoy tells so', () => {
    expect(respond(429, rateLimited, before).summary).toMatchObject({
      outcome: 'local_reply',
      requestId: 'req-1', // of the headers
      upstreamStatus: null,
      estimate: null,
    });
  });

  it('counts as the upstream’s without attributes', () => {
    expect(respond(429, undefined, before).summary).toMatchObject({ outcome: 'upstream_error', upstreamStatus: 429 });
  });

  it('is the upstream’s error without a status of its own where the upstream could not be reached', () => {
    const gone = told({ 'response.code_details': 'no_healthy_upstream' });
    expect(respond(503, gone, before).summary).toMatchObject({ outcome: 'upstream_error', upstreamStatus: null });
  });
});

// As Envoy 1.37 to 1.40 tell them.
it.each([
  ['via_upstream', true, 'upstream'],
  ['local_rate_limited', false, 'proxy'],
  ['jwt_authn_access_denied{Jwt_is_missing}', false, 'proxy'],
  ['ext_authz_denied', false, 'proxy'],
  ['rbac_access_denied_matched_policy[p]', false, 'proxy'],
  ['request_payload_too_large', false, 'proxy'],
  ['no_healthy_upstream', false, 'router'],
  ['response_timeout', true, 'router'],
  ['upstream_reset_before_response_started{connection_termination}', true, 'router'],
])('%s, with an upstream’s address: %s, was made by the %s', (details, hasUpstream, expected) => {
  const attributes = told({ 'response.code_details': details, ...(hasUpstream && { 'upstream.address': '[::1]:1' }) });
  for (const isFirst of [true, false]) expect(readResponder(attributes, isFirst)).toBe(expected);
});
