import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { heldMessages } from '../../../support/held-messages.ts';

interface Measured {
  readonly name: string;
  readonly grown: number;
  readonly counted: number;
}

/** Bytes in memory for each that is counted. */
const most = 3;

test('what connections keep is counted: memory grows by three times that at most', async () => {
  const script = fileURLToPath(new URL('../../../support/measure-websocket-bytes.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '--single-threaded-gc', script]);
  const lines = stdout.trim().split('\n');
  const measured = lines.map((line) => JSON.parse(line) as Measured);
  expect(measured.map(({ name }) => name)).toEqual([...heldMessages.keys()]);
  for (const { name, grown, counted } of measured) {
    expect(counted, name).toBeGreaterThan(500_000);
    expect(grown / counted, name).toBeLessThan(most);
  }
});
