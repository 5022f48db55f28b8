import { describe, expect, it } from 'vitest';
import { Dropped } from '../../../../../src/filter/translate/shared/dropped.ts';
import { nothingRecorded } from '../../../../../src/filter/translate/shared/provenance.ts';

const thousand = Array.from({ length: 1000 }, (_, index) => `n${index}`);

describe('clients choose the names of what is left out', () => {
  it('so that a name is cut after 300 characters, and takes no comma and nothing but printable ASCII', () => {
    const dropped = new Dropped(nothingRecorded);
    dropped.push('x'.repeat(300));
    dropped.push(`${'y'.repeat(300)}z`);
    dropped.push('!~ \x7f,é😀\n');
    expect(dropped.names()).toEqual(['x'.repeat(300), 'y'.repeat(300), '!~???????']);
  });

  it('so that a key and a type are cut as well', () => {
    const dropped = new Dropped(nothingRecorded);
    dropped.pushKey('input[]', 'k'.repeat(400));
    dropped.pushUnknownType({ kind: 'item', type: 't'.repeat(400) }, 'input[0]');
    expect(dropped.names()).toEqual([`input[].${'k'.repeat(292)}`, `input[0].${'t'.repeat(291)}`]);
  });

  it('so that a thousand of them are kept', () => {
    const dropped = new Dropped(nothingRecorded);
    for (const name of [...thousand, 'more']) dropped.push(name);
    expect(dropped.names()).toEqual(thousand);
  });

  it('so that a thousand unknown types are kept, each once for its kind', () => {
    const dropped = new Dropped(nothingRecorded);
    for (const type of [...thousand, 'n0', 'more']) dropped.pushUnknownType({ kind: 'item', type }, 'input[0]');
    expect(dropped.unknownTypes()).toEqual(thousand.map((type) => ({ kind: 'item', type })));
  });

  it('so that a thousand unknown keys of a kind of value are kept', () => {
    const dropped = new Dropped(nothingRecorded);
    for (const key of [...thousand, 'more']) dropped.pushKey('input[]', key);
    expect(dropped.names()).toEqual(thousand.map((name) => `input[].${name}`));
  });
});

it('a key is named once for its place', () => {
  const dropped = new Dropped(nothingRecorded);
  for (const place of ['items[]', 'items[]', 'parts[]']) for (const key of ['odd', 'zero']) dropped.pushKey(place, key);
  expect(dropped.names()).toEqual(['items[].odd', 'items[].zero', 'parts[].odd', 'parts[].zero']);
});

it('two kinds of unknown types may have the same name', () => {
  const dropped = new Dropped(nothingRecorded);
  for (const kind of ['item', 'part', 'tool'] as const) dropped.pushUnknownType({ kind, type: 'x' }, kind);
  expect(dropped.unknownTypes().map(({ kind }) => kind)).toEqual(['item', 'part', 'tool']);
  expect(dropped.names()).toEqual(['item.x', 'part.x', 'tool.x']);
});
