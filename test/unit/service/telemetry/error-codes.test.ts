import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shownErrorCode } from '../../../../src/service/telemetry/error-codes.ts';

const root = join(import.meta.dirname, '../../../..');

/** The ways in which a code is written in the filter. What zod calls its issues is no code of an error. */
const ways: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a property', /(?<!ssues?\b.*)\bcode: '(\w+)'/g],
  ['an answer of no use', /\bofModel\([^']*'(\w+)'/g],
  ['a row of statuses', /^row\(.*, '(\w+)'\);$/gm],
  ['in place of a missing one', /\bcode \|\| [^';]*'(\w+)'/g],
  ['an answer of Envoy’s own', /\[\s*'[a-z/ ]+',\s+'(\w+)',\s+'[A-Z]/g],
];
const sources = globSync('src/filter/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));

it.each(ways)('every code that this service gives to what an upstream did is shown as it is: %s', (_what, pattern) => {
  const codes = sources.flatMap((source) => [...source.matchAll(pattern)].map(([, code = '']) => code));
  expect(codes).not.toEqual([]);
  expect(codes.filter((errorCode) => shownErrorCode({ errorCode, outcome: 'failed' }) !== errorCode)).toEqual([]);
});

it('anything else an upstream calls its error is shown as `other`', () => {
  for (const errorCode of ['my prompt said', '1234', 'constructor', 'http_5000'])
    expect(shownErrorCode({ errorCode, outcome: 'upstream_error' })).toBe('other');
  expect(shownErrorCode({ errorCode: 'http_451', outcome: 'upstream_error' })).toBe('http_451');
  expect(shownErrorCode({ errorCode: null, outcome: 'completed' })).toBeNull();
  expect(shownErrorCode({ errorCode: 'ours_alone', outcome: 'refused' })).toBe('ours_alone');
});
