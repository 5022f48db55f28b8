import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchFiles } from '../../../../src/service/server/watched-files.ts';

let folder: string;
let paths: readonly [string, string];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  folder = mkdtempSync(join(tmpdir(), 'watched-files-'));
  paths = [join(folder, 'a'), join(folder, 'b')];
  write('1', '2');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

function write(...texts: readonly string[]): void {
  for (const [index, text] of texts.entries()) writeFileSync(paths[index] ?? '', text);
}

/** Watches both files, of which none may hold `bad`; `log` has what was taken, and what was told of changes. */
function watch() {
  const log: unknown[] = [];
  const watched = watchFiles(
    paths,
    (contents) => {
      const text = contents.join('+');
      if (text.includes('bad')) throw new Error(`bad: ${text}`);
      if (text.includes('odd')) throw text;
      log.push(text);
    },
    (problem) => log.push(problem?.message.replaceAll(folder, '') ?? null),
  );
  return { watched, take: () => log.splice(0) };
}

it('files are taken at the start, and looked at every ten seconds', () => {
  const { watched, take } = watch();
  expect(take()).toEqual(['1+2']);
  write('1', '3');
  vi.advanceTimersByTime(9_999);
  expect(take()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(take()).toEqual(['1+3', null]);
  vi.advanceTimersByTime(60_000);
  expect([take(), watched.problem()]).toEqual([[], null]);
  watched.close();
  write('4');
  vi.advanceTimersByTime(60_000);
  expect(take()).toEqual([]);
});

it('what cannot be used is told once, until it can be again', () => {
  const { watched, take } = watch();
  take();
  const look = (...texts: readonly string[]) => {
    write(...texts);
    watched.reload();
    return [...take(), watched.problem()];
  };
  expect(look('bad')).toEqual(['bad: bad+2', 'bad: bad+2']);
  expect(look('bad')).toEqual(['bad: bad+2']);
  expect(look('odd')).toEqual(['odd+2', 'odd+2']);
  expect(look('1'), 'the first ones again').toEqual(['1+2', null, null]);
  expect(look('bad', 'x')).toEqual(['bad: bad+x', 'bad: bad+x']);
  rmSync(paths[1]);
  const missing = "ENOENT: no such file or directory, open '/b'";
  watched.reload();
  expect(take()).toEqual([missing]);
  watched.reload();
  expect([take(), watched.problem()?.endsWith("/b'")]).toEqual([[], true]);
  expect(look('bad', 'x'), 'whatever is there next is a change').toEqual(['bad: bad+x', 'bad: bad+x']);
});

it('files that cannot be used at the start are an error', () => {
  write('bad');
  expect(watch).toThrow('bad: bad+2');
  rmSync(paths[0]);
  expect(watch).toThrow('ENOENT');
});
