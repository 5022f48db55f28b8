import { expect, test } from 'vitest';
import {
  readHeaderFacts,
  readLength,
  upstreamHeaders,
  wholeAndPlain,
} from '../../../../../src/filter/exchange/request/request-headers.ts';
import { headersOf } from '../../../../support/exchange-options.ts';

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range', 'range'];
const ofTheBytes = ['content-encoding', 'expect', 'content-md5', 'digest', 'content-digest', 'repr-digest'];
const kept = { authorization: 'Bearer x', 'x-request-id': '1', etag: '"1"', cookie: 'a=b', 'content-language': 'en' };
const target = { path: '/v1/chat/completions', accept: 'application/json', contentLength: 5 };
const written = {
  ':path': '/v1/chat/completions',
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'identity',
};

test.each([...conditions, ...ofTheBytes])('%s is not true of what is sent upstream', (name) => {
  expect(upstreamHeaders(headersOf({ ...kept, [name]: 'x' }), target)).toEqual({
    set: { ...written, 'content-length': '5' },
    remove: [name],
  });
});

test('a length that is not known yet is removed', () => {
  expect(upstreamHeaders(headersOf(kept), { ...target, contentLength: null })).toEqual({
    set: written,
    remove: ['content-length'],
  });
});

test.each(conditions)('%s does not reach a server whose list is completed', (name) => {
  expect(wholeAndPlain(headersOf({ ...kept, [name]: 'x' }))).toEqual({
    set: { 'accept-encoding': 'identity' },
    remove: [name],
  });
});

test.each([
  ['0', 0],
  ['120', 120],
  ['-1', 0],
  ['1e3', 0],
  ['12 ', 0],
  ['', 0],
])('a content-length of %j is %i bytes', (value, bytes) => {
  expect(readLength(headersOf({ 'content-length': value }))).toBe(bytes);
  expect(readLength(headersOf({}))).toBe(0);
});

test('the facts of a request are those of its headers, its path without the query', () => {
  const headers = {
    ':method': 'POST',
    ':path': '/v1/responses?key=k',
    ':authority': 'a.test',
    traceparent: '00-1-2-01',
  };
  expect(readHeaderFacts(headersOf({ ...headers, tracestate: 'v=1', 'x-request-id': '1' }))).toEqual({
    ...{ requestId: '1', method: 'POST', path: '/v1/responses', authority: 'a.test' },
    ...{ traceParent: '00-1-2-01', traceState: 'v=1' },
  });
  const none = { requestId: null, authority: null, traceParent: null, traceState: null };
  expect(readHeaderFacts(new Map())).toEqual({ ...none, method: '', path: '' });
});
