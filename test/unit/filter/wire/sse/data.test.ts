import { expect, it } from 'vitest';
import { readSseData, type SseData } from '../../../../../src/filter/wire/sse/data.ts';

it.each<[string, SseData]>([
  ['[DONE]', { type: 'values', values: [], done: true }],
  [' [DONE] ', { type: 'values', values: [], done: true }],
  ['"[DONE]"', { type: 'values', values: [], done: true }],
  ['', { type: 'values', values: [], done: false }],
  ['  ', { type: 'values', values: [], done: false }],
  ['{"a":1}', { type: 'values', values: [{ a: 1 }], done: false }],
  ['{"a":\n1}', { type: 'values', values: [{ a: 1 }], done: false }],
  ['{"a":1}\n{"b":2}', { type: 'values', values: [{ a: 1 }, { b: 2 }], done: false }],
  ['{"a":1}\n\n{"b":2}\n', { type: 'values', values: [{ a: 1 }, { b: 2 }], done: false }],
  ['{"a":1}\n[DONE]', { type: 'values', values: [{ a: 1 }], done: true }],
  ['{"a":1}\n"[DONE]"\n{"b":2}', { type: 'values', values: [{ a: 1 }], done: true }],
  ['{"a":1', { type: 'malformed' }],
  ['{"a":1}\n{"b":', { type: 'malformed' }],
  ['[DONE', { type: 'malformed' }],
  ['null', { type: 'values', values: [null], done: false }],
])('%j is %j', (data, read) => {
  expect(readSseData(data)).toEqual(read);
});
