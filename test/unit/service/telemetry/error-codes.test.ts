import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shownErrorCode } from '../../../../src/service/telemetry/error-codes.ts';

const root = join(import.meta.dirname, '../../../..');

it('every code that this service gives to what an upstream did is shown as it is', () => {
  const files = globSync(
    ['src/filter/exchange/*.ts', 'src/filter/{exchange/response,translate/chat-to-response}/**/*.ts'],
    { cwd: root },
  );
  const codes = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/code: '(\w+)'|upstreamError\(\d+, '(\w+)'/g)].map(
      ([, code, other]) => code ?? other ?? '',
    ),
  );
  expect(codes.length).toBeGreaterThan(10);
  for (const errorCode of codes) expect(shownErrorCode({ errorCode, outcome: 'failed' })).toBe(errorCode);
});

it('anything else an upstream calls its error is shown as `other`', () => {
  for (const errorCode of ['my prompt said', '1234', 'constructor', 'http_5000'])
    expect(shownErrorCode({ errorCode, outcome: 'upstream_error' })).toBe('other');
  expect(shownErrorCode({ errorCode: 'http_451', outcome: 'upstream_error' })).toBe('http_451');
  expect(shownErrorCode({ errorCode: null, outcome: 'completed' })).toBeNull();
  expect(shownErrorCode({ errorCode: 'ours_alone', outcome: 'refused' })).toBe('ours_alone');
});
