import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { docTables } from '../support/doc-tables.ts';
import { bounds, flags } from '../support/work/bounds.ts';
import { families } from '../support/work/families.ts';
import type { Entered, MeasuredWork } from '../support/work/measure.ts';

const root = join(import.meta.dirname, '../..');

const { stdout } = await promisify(execFile)(
  process.execPath,
  [...flags.work, join(root, 'test/support/work/measure.ts'), 'work'],
  // Code from a cache counts no blocks.
  { env: { ...process.env, NODE_COMPILE_CACHE: undefined }, maxBuffer: 64 * 1024 * 1024 },
);
const lines = stdout.trim().split('\n');
const { entered } = JSON.parse(lines.pop() ?? '') as Entered;
const work = lines.map((line) => JSON.parse(line) as MeasuredWork);

describe.each(work.map((measured) => [measured.name, measured] as const))('%s', (name, measured) => {
  const { steps, allocated, steepest, sent, refused } = measured;

  it('costs as much as it is long', () => {
    expect(steps, JSON.stringify(steepest)).toBeLessThan(bounds.steps);
    expect(allocated, JSON.stringify(steepest)).toBeLessThan(bounds.allocated);
    expect(steepest[0]?.growth ?? 0, JSON.stringify(steepest)).toBeLessThan(bounds.steepest);
  });

  it('becomes a few times what came', () => {
    expect(sent).toBeLessThan(bounds.sent);
  });

  it('is read to its end', () => {
    const isRefused = families.find((family) => family.name === name)?.isRefused === true;
    expect(refused !== null, `refused with ${refused}`).toBe(isRefused);
  });
});

describe('nothing is left out (else: add a family to test/support/work)', () => {
  it('no two families share a name', () => {
    const names = families.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(work.map(({ name }) => name)).toEqual(names);
  });

  it('every door of docs/architecture.md has one', () => {
    const rows = docTables.flatMap(([page, , table]) => (page === 'docs/architecture.md' ? [table] : []));
    const [, ...doors] = rows.find(([head]) => head?.[0]?.trim() === 'door') ?? [];
    const names = doors.map(([door = '']) => door.trim().replace('’', "'"));
    expect(names.length).toBeGreaterThan(7);
    // Its bytes are hashed, and given to V8.
    expect(names.filter((door) => !families.some((family) => family.door === door))).toEqual(['compile cache']);
  });

  /** What sees no list, no text and no object of others: parts of headers, errors, words for an operator, clocks and questions. */
  const unmeasured = new Set([
    ...[
      'discard',
      'readRequestAttributes',
      'withContentLength',
      'keptHeaders',
      'translatedTrailers',
      'tooLarge',
      'isHostedTool',
    ],
    ...['tooManyItems', 'tooManyValues'],
    ...['profilesFile', 'profilesFileJsonSchema', 'takenBy'],
    ...[
      'misconfigured',
      'requestTooLarge',
      'answerTooLarge',
      '#invalid',
      '#fail',
      '#failWith',
      '#refuse',
      'shed',
      'drop',
    ],
    ...['chooseSchedule', 'tick', '#onTick', 'elapsed', 'onAnswered', '#onTrailers', 'start'],
    ...['hasToken', 'phase', 'length'],
  ]);
  const exported = /^export (?:function\*?|class) (\w+)(?:[^\n]*\n(?: .*|)$)*/gm;
  const methods = /^ {2}(?:static |async |get |set )*\*?(#?\w+)\(/gm;
  const files = globSync('src/{formats,filter}/**/*.ts', { cwd: root });

  it.each(files)('every function that %s exports runs in one', (file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const ran = new Set(entered);
    const functions = [...source.matchAll(exported)].flatMap(([body, name = '']) =>
      /^[A-Z]/.test(name) ? [...body.matchAll(methods)].map(([, method = '']) => method) : [name],
    );
    const names = functions.filter((name) => name !== 'constructor');
    expect(names.filter((name) => !unmeasured.has(name) && !ran.has(`${file}:${name}`))).toEqual([]);
  });
});
