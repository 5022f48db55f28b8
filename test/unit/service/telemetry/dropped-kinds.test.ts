import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDroppedKind } from '../../../../src/service/telemetry/metric-rows.ts';

const root = join(import.meta.dirname, '../../../..');

/** Every name that a golden case drops, without its indices. */
const names = new Map(
  globSync('test/golden/*.md', { cwd: root })
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(/^```json dropped\n(.*?)^```/gms)])
    .flatMap(([, block = '[]']) => JSON.parse(block) as string[])
    .map((name) => [name.replaceAll(/\[\d+\]/g, '[0]'), name]),
);

/** The names of a kind, with one index for all. */
const of = (kind: string) => [...names].filter(([, name]) => readDroppedKind(name) === kind).map(([shown]) => shown);

test('a tool that the model is not offered', () => {
  expect(of('tool')).toEqual(expect.arrayContaining(['tools[0].web_search', 'tool_choice.tools[0].web_search']));
  for (const name of of('tool')) expect(name).toMatch(/^(tool_choice\.|input\[0\]\.)?tools\[0\]\.[\w:]+$/);
  expect(of('tool')).not.toContain('tools[0].strict');
});

test.each<[string, string]>([
  ['tools[0].tools[0].strict', 'field'],
  ['tools[0].tools[0].parameters.anyOf', 'field'],
  ['input[1].tools[0].strict', 'field'],
  ['input[1].tools[0].tools[2].parameters.anyOf', 'field'],
  ['tools[0].tools[0].web_search', 'tool'],
  ['input[1].tools[0].web_search', 'tool'],
])('%s, of a tool within another or within an item, is a %s', (name, kind) => {
  expect(readDroppedKind(name)).toBe(kind);
});

test('an item or a part that the model does not see', () => {
  expect(of('content')).toEqual(
    expect.arrayContaining([
      'input[0].computer_call',
      'input[0].content[0].input_image',
      'input[0].output[0].input_file',
    ]),
  );
  expect(readDroppedKind('input[].content')).toBe('content');
  for (const name of of('content')) expect(name).toMatch(/^input\[0\]\.([\w:]+|(content|output)\[0\]\.[\w:]+)$/);
});

test('earlier reasoning, and references to it', () => {
  expect(of('reasoning').toSorted()).toEqual(['input[0].item_reference', 'input[].reasoning']);
});

test('a field: named once, whatever it is a field of', () => {
  expect(of('field')).toEqual(
    expect.arrayContaining(['reasoning.effort.high', 'service_tier', 'tools[].strip', 'tools[0].strict']),
  );
  for (const name of of('field')) expect(name).not.toMatch(/^input\[0\]/);
});
