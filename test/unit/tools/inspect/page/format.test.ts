import { expect, test } from 'vitest';
import {
  chooseTone,
  formatCount,
  formatDuration,
  formatSize,
  shortenUserAgent,
} from '../../../../../src/tools/inspect/page/format.ts';

test('what is unknown is a dash, and nothing is a number', () => {
  expect([formatCount(null), formatDuration(null), shortenUserAgent(null)]).toEqual(['–', '–', '–']);
  expect([formatCount(0), formatCount(12_345)]).toEqual(['0', '12,345']);
  expect(shortenUserAgent('codex_cli_rs/0.9 (Linux)')).toBe('codex_cli_rs/0.9');
});

test.each([
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1024 * 1024 - 1, '1024.0 KiB'],
  [1024 * 1024, '1.0 MiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test.each([
  [9.34, '9.3 ms'],
  [10, '10 ms'],
  [3444, '3.44 s'],
  [12_340, '12.3 s'],
  [60_000, '1 min 0 s'],
  [119_600, '2 min 0 s'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('each outcome has its tone', () => {
  const tones = ['completed', 'running', 'open', 'passed', 'incomplete', 'aborted', 'failed'].map(chooseTone);
  expect(tones).toEqual(['good', 'busy', 'busy', 'quiet', 'warn', 'warn', 'bad']);
});
