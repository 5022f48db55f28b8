import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { writeEventLine } from '../../../../../src/tools/inspect/view/event-lines.ts';
import { eventFields } from '../../../../support/invariants-fields.ts';

const read = (path: string) => readFileSync(new URL(`../../../../../${path}`, import.meta.url), 'utf8');
const [, page = ''] = /## Events\n(.*?)\nNever sent/s.exec(read('docs/mapping.md')) ?? [];
const [, grammar = ''] = /### 2\.2 Grammar\n+```\n(.*?)```/s.exec(read('docs/answers.md')) ?? [];

/** The type of each event that the sources declare, without `response.`. */
const declared = read('src/filter/wire/schema/stream-events.ts').split('export function')[0] ?? '';
const types = [...declared.matchAll(/'(?:response\.([\w.]+)|(error))'/g)].map(([, type, error]) => type ?? error ?? '');

describe('the types of stream-events.ts', () => {
  it('are those that the invariants know', () => {
    expect(types.toSorted()).toEqual(Object.keys(eventFields).sort());
  });

  it('are those that docs/mapping.md lists under “Events”', () => {
    const listed = [...page.matchAll(/`(?:response\.)?([\w.]+)`/g)].map(([, type]) => type);
    expect(listed.sort()).toEqual(types.toSorted());
  });

  it('are in the grammar of docs/answers.md, each by its name', () => {
    const words = grammar.split(/[^\w.]+/);
    const isThere = (type: string) => words.includes(type) || words.includes(type.replace(/\.(delta|done)$/, ''));
    expect(types.filter((type) => !isThere(type))).toEqual([]);
  });
});

/** Fields that are ids or places, and objects whose lines the golden cases show. */
const others =
  'item_id output_index content_index summary_index annotation_index command_index item part response annotation';
const shown = Object.entries(eventFields)
  .filter(([type]) => type !== 'error')
  .flatMap(([type, fields]) => fields.split(' ').map((field) => [type, field.replace('?', '')] as const))
  .filter(([, field]) => !others.split(' ').includes(field));

it.each(shown)('the line of a response.%s in golden cases shows its %s', (type, field) => {
  const value = field === 'logprobs' ? [{ token: 'shown' }] : 'shown';
  expect(writeEventLine({ type: `response.${type}`, [field]: value })).toContain('shown');
});
