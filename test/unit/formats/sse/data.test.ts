import { expect, it } from 'vitest';
import { readSseData, type SseData } from '../../../../src/formats/sse/data.ts';

it.each<[string, SseData | null]>([
  ['[DONE]', { values: [], done: true }],
  [' [DONE] ', { values: [], done: true }],
  ['"[DONE]"', { values: [], done: true }],
  ['', { values: [], done: false }],
  ['  ', { values: [], done: false }],
  ['{"a":1}', { values: [{ a: 1 }], done: false }],
  ['{"a":\n1}', { values: [{ a: 1 }], done: false }],
  ['{"a":1}\n{"b":2}', { values: [{ a: 1 }, { b: 2 }], done: false }],
  ['{"a":1}\n\n{"b":2}\n', { values: [{ a: 1 }, { b: 2 }], done: false }],
  ['{"a":1}\n[DONE]', { values: [{ a: 1 }], done: true }],
  ['{"a":1}\n"[DONE]"\n{"b":2}', { values: [{ a: 1 }], done: true }],
  ['{"a":1', null],
  ['{"a":1}\n{"b":', null],
  ['[DONE', null],
  ['null', { values: [null], done: false }],
])('%j is %j', (data, read) => {
  expect(readSseData(data)).toEqual(read);
});
