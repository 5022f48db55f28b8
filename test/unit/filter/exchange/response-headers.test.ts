import { describe, expect, it } from 'vitest';
import {
  errorHeaders,
  keptHeaders,
  translatedHeaders,
  withContentLength,
} from '../../../../src/filter/exchange/response-headers.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';

/** What an upstream and the proxies on the way may send. */
const useful = {
  'retry-after': '7',
  'retry-after-ms': '7000',
  'x-should-retry': 'true',
  'x-ratelimit-remaining-requests': '0',
  'ratelimit-reset': '7',
  'anthropic-ratelimit-tokens-limit': '1',
  'request-id': 'r',
  'openai-processing-ms': '3',
  'openai-version': '2020-10-01',
  'cf-ray': 'c',
  'x-codex-primary-used-percent': '1',
};
const untrue = {
  'content-length': '12',
  'content-encoding': 'gzip',
  'transfer-encoding': 'chunked',
  etag: '"e"',
  'content-md5': 'm',
  digest: 'd',
  'content-digest': 'd',
  'repr-digest': 'd',
  'accept-ranges': 'bytes',
  'content-range': 'bytes 0-9/10',
  'content-location': '/v1/chat/completions/1',
  location: 'http://10.0.0.1/',
  signature: 's=:x:',
  'signature-input': 's=("content-digest")',
};
const headers = new Map(
  Object.entries({ ':status': '200', 'content-type': 'text/plain', 'x-request-id': 'up', ...useful, ...untrue }),
);
const facts = { stream: false, dropped: [] };
const error = new ApiError('m', { status: 429, type: 'too_many_requests', code: 'c', headers: { 'retry-after': '9' } });

describe('answerHeaders', () => {
  it('takes away what was true of the upstream’s bytes only, and nothing clients act upon', () => {
    const { remove = [], set = {} } = translatedHeaders(headers, facts, 'ours');
    expect([...remove].sort()).toEqual(Object.keys(untrue).sort());
    expect(set).toEqual({ 'content-type': 'application/json' });
  });

  it('announces a stream, and asks proxies not to hold it back', () => {
    expect(translatedHeaders(headers, { ...facts, stream: true }, 'ours').set).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
  });

  it('names what was left out, in a header of bounded size', () => {
    expect(
      translatedHeaders(headers, { ...facts, dropped: ['tools[8].web_search', 'text.verbosity'] }, 'ours').set,
    ).toMatchObject({
      'x-responses-dropped': 'tools[8].web_search, text.verbosity',
    });
    const many = Array.from({ length: 1000 }, (_, index) => `tools[${index}].web_search`);
    const list = translatedHeaders(headers, { ...facts, dropped: many }, 'ours').set?.['x-responses-dropped'] ?? '';
    expect(list.length).toBeLessThan(2100);
    expect(list).toContain('tools[0].web_search');
  });

  it('gives the request’s id where the upstream gave none', () => {
    expect(translatedHeaders(new Map(), facts, 'ours').set).toMatchObject({ 'x-request-id': 'ours' });
    expect(translatedHeaders(headers, facts, 'ours').set).not.toHaveProperty('x-request-id');
    expect(translatedHeaders(new Map(), facts, null).set).not.toHaveProperty('x-request-id');
  });

  it('sets the length where it is known', () => {
    const { remove, set } = withContentLength(translatedHeaders(headers, facts, 'ours'), 42);
    expect(set).toMatchObject({ 'content-length': '42' });
    expect(remove).not.toContain('content-length');
  });
});

describe('errorHeaders', () => {
  it('sets the status, the type, and the error’s own headers; the others stay', () => {
    const { remove = [], set } = errorHeaders(headers, error, null);
    expect(set).toEqual({ ':status': '429', 'content-type': 'application/json', 'retry-after': '9' });
    expect(remove.filter((name) => name in useful)).toEqual([]);
  });
});

describe('keptHeaders', () => {
  it('are those an immediate response must repeat', () => {
    expect(keptHeaders(headers)).toEqual({ 'x-request-id': 'up', ...useful });
  });
});
