import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/watching.md'), 'utf8');
const sources = globSync(['src/filter/**/*.ts', 'src/service/**/*.ts'], { cwd: root })
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\n');

/** What the first cells of the table under a heading name in code. */
function namedUnder(heading: string): readonly string[] {
  const chapter = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const cells = [...chapter.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

describe('docs/watching.md', () => {
  it('names each line that the service logs, and no other', () => {
    const calls = [
      // The message is the last argument.
      ...sources.matchAll(/\blog(?:\.\w+|\[level\])\((?:[^;]*?,\s*)?'([^']+)',?\s*\)/g),
      ...sources.matchAll(/\bwrite\(level, line, '([^']+)'\)/g),
      ...sources.matchAll(/create(?:OccasionalWarning|SampledInfo)\(log, '([^']+)'/g),
      ...sources.matchAll(/\bmsg: '([^']+)'/g),
    ].map(([, message]) => message);
    const described = [...page.matchAll(/"msg":"(\w+)"/g)].map(([, message]) => message);
    const written = [...new Set([...namedUnder('Logs'), ...described])];
    expect(written.toSorted()).toEqual([...new Set(calls)].toSorted());
  });

  it('says of each alert what to do, and of no other', () => {
    const alerts = readFileSync(join(root, 'docs/monitoring/alerts.yaml'), 'utf8');
    expect(namedUnder('Alerts')).toEqual([...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
  });

  it('names headers that there are, and each of the service’s own', () => {
    const named = namedUnder('Headers');
    expect(named.length).toBeGreaterThan(4);
    for (const name of named) expect(sources, name).toMatch(new RegExp(`['"]${name}['"]`));
    const own = [...sources.matchAll(/'(x-(?:responses|upstream|accel)-[a-z-]+|x-request-id)'/g)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(expect.arrayContaining([...new Set(own)]));
  });
});
