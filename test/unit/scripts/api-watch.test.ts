import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  codexRows,
  codexStructs,
  fieldsOf,
  itemsNamedIn,
  newAttributes,
  newestPatches,
  newInRow,
  unknownIn,
} from '../../../scripts/tests/api-watch.ts';
import { declarationsOf, literalsOf } from '../../../scripts/tests/published-literals.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const types = read('node_modules/openai/resources/responses/responses.d.ts');
const shared = read('node_modules/openai/resources/shared.d.ts');
const mapping = read('docs/mapping.md');

it('docs/mapping.md has every word of the pinned types', () => {
  const literals = literalsOf(declarationsOf(types, shared));
  for (const kind of ['item', 'part', 'tool', 'event', 'include', 'field', 'value'])
    expect(
      literals.some((literal) => literal.kind === kind),
      kind,
    ).toBe(true);
  expect(unknownIn(literals, mapping)).toEqual([]);
});

describe('what a newer package adds is found', () => {
  const found = (from: string | RegExp, to: string) => {
    const changed = types.replace(from, to);
    expect(changed).not.toBe(types);
    return unknownIn(literalsOf(declarationsOf(changed, shared)), mapping);
  };

  it.each([
    [/type: 'shell_call';/, `type: 'moon_call';`, { kind: 'item', value: 'moon_call' }],
    [/type: 'file_search';/, `type: 'moon_search';`, { kind: 'tool', value: 'moon_search' }],
    [/type: 'response.queued';/, `type: 'response.moon';`, { kind: 'event', value: 'response.moon' }],
    [
      /'file_search_call.results' \|/,
      `'moon.phase' |`,
      { kind: 'include', value: 'moon.phase', declaration: 'ResponseIncludable' },
    ],
    [
      /truncation\?: 'auto'/g,
      `truncation?: 'moon'`,
      { kind: 'value', value: 'moon', declaration: 'ResponseCreateParamsBase.truncation' },
    ],
    [
      /(interface ResponseCreateParamsBase {)/,
      `$1 moon_phase?: string;`,
      { kind: 'field', value: 'moon_phase', declaration: 'ResponseCreateParamsBase' },
    ],
  ])('%s', (from, to, literal) => {
    expect(found(from, to)).toEqual([expect.objectContaining(literal)]);
  });

  it('a type that is gone ends the run', () => {
    const gone = types.replace('export type ResponseIncludable', 'export type Other');
    expect(() => literalsOf(declarationsOf(gone, shared))).toThrow('declares no ResponseIncludable any more');
  });
});

describe('the items that Codex names', () => {
  it('are read from the row in its binary', () => {
    const binary = Buffer.from(
      '\0abcresponse.reasoningresponse.function_call_outputresponse.moon_callresponse.otherevent\0',
    );
    expect(itemsNamedIn(binary)).toEqual(['reasoning', 'function_call_output', 'moon_call']);
  });

  it('a binary without the row ends the run', () => {
    expect(() => itemsNamedIn(Buffer.from('response.moon'))).toThrow('no row of items');
  });
});

describe.each(codexRows)('the row of Codex for each $what', (row) => {
  const rowOf = (names: string) => Buffer.from(`\0other${names}${row.to} 3\0`);

  it('has nothing new where all its names are known', () => {
    expect(newInRow(rowOf(row.known.join('')), row)).toBe('');
  });

  it('tells a name that nobody has looked at', () => {
    expect(newInRow(rowOf(`${row.known.join('')}moon_phase`), row)).toBe('moon_phase');
  });

  it('ends the run where it is gone', () => {
    expect(() => newInRow(Buffer.from('moon'), row)).toThrow(`no row for each ${row.what}`);
    // The text that stood behind it is in another part of the binary now.
    const apart = rowOf(`${row.known.join('')}${'\0'.repeat(1000)}`);
    expect(() => newInRow(apart, row)).toThrow(`no row for each ${row.what}`);
  });
});

it.each(codexStructs)('the fields of what Codex decodes as $what are counted', (struct) => {
  expect(fieldsOf(Buffer.from(`\0${struct.before}12 elementsstruct`), struct)).toBe(12);
  expect(() => fieldsOf(Buffer.from('moon'), struct)).toThrow(`no ${struct.what}`);
});

it('an attribute of OpenTelemetry that traces lack, and that has no reason, is new', () => {
  const traces = read('src/service/telemetry/tracing.ts');
  const sources = `X = "gen_ai.usage.input_tokens"\nY = "gen_ai.moon.phase"\nZ = "gen_ai.agent.name" # gen_ai.`;
  expect(newAttributes(sources, traces)).toEqual(['gen_ai.moon.phase']);
});

it('of each version of Envoy the newest patch counts', () => {
  expect(newestPatches(['1.40.0', '1.39.3', '1.39.1', '1.38.3', '1.36.2.post1'])).toEqual([
    '1.40.0',
    '1.39.3',
    '1.38.3',
    '1.36.2.post1',
  ]);
});
