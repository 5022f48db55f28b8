import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { generators, staleFiles } from '../../../scripts/generate/generate.ts';
import { type Generator, withSection } from '../../../scripts/generate/generator.ts';

const available = generators.filter((generator) => (generator.missing?.() ?? null) === null);

test.each(available)('$name: generated from $source as it is now (else: npm run generate)', (generator) => {
  expect([...staleFiles(generator).keys()]).toEqual([]);
});

describe('a file that is stale', () => {
  const generator = (parts: Partial<Generator>): Generator => ({ name: '', source: '', files: () => ({}), ...parts });

  test('has another text than it should', () => {
    expect([...staleFiles(generator({ files: () => ({ 'package.json': '{}' }) }))]).toEqual([['package.json', '{}']]);
  });

  test('is not there', () => {
    expect([...staleFiles(generator({ files: () => ({ 'docs/none.md': 'x' }) }))]).toEqual([['docs/none.md', 'x']]);
  });

  test('is made no more', () => {
    const stale = staleFiles(generator({ folder: 'proto/envoy/type', files: () => ({ 'proto/none': '' }) }));
    expect([...stale.values()]).toEqual(expect.arrayContaining(['', null]));
  });
});

test('a generator that makes nothing is an error', () => {
  expect(() => staleFiles({ name: 'tables', source: 'src', files: () => ({}) })).toThrow('tables: made nothing.');
});

test('a page without the marks of its section is an error that names them', () => {
  expect(() => withSection('# Page', 'variables', 'x')).toThrow('variables: written by npm run generate');
});

test('an option that is not known is wrong usage, never ignored', () => {
  const script = join(import.meta.dirname, '../../../scripts/generate/generate.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, '--chekc'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'Usage: npm run generate [-- --check]\n' });
});
