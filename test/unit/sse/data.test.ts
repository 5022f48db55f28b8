import { expect, it } from 'vitest';
import { readSseData, type SseData } from '../../../src/sse/data.ts';

it.each<[string, SseData]>([
  ['[DONE]', { type: 'done' }],
  [' [DONE] ', { type: 'done' }],
  ['"[DONE]"', { type: 'done' }],
  ['', { type: 'values', values: [] }],
  ['  ', { type: 'values', values: [] }],
  ['{"a":1}', { type: 'values', values: [{ a: 1 }] }],
  ['{"a":\n1}', { type: 'values', values: [{ a: 1 }] }],
  ['{"a":1}\n{"b":2}', { type: 'values', values: [{ a: 1 }, { b: 2 }] }],
  ['{"a":1}\n\n{"b":2}\n', { type: 'values', values: [{ a: 1 }, { b: 2 }] }],
  ['{"a":1', { type: 'malformed' }],
  ['{"a":1}\n{"b":', { type: 'malformed' }],
  ['[DONE', { type: 'malformed' }],
  ['null', { type: 'values', values: [null] }],
])('%j is %j', (data, read) => {
  expect(readSseData(data)).toEqual(read);
});
