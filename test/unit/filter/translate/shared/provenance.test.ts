import { expect, it } from 'vitest';
import { carry, carryKeys, RecordedProvenance } from '../../../../../src/filter/translate/shared/provenance.ts';

const provenance = new RecordedProvenance();

function markedWith(path: string): object {
  const thing = {};
  provenance.mark(thing, path);
  return thing;
}

it('a thing has the paths of all that it was made of, in their order, each once', () => {
  const made = {};
  for (const path of ['input[1]', 'input[0]', 'input[1]']) carry(made, markedWith(path));
  carryKeys(made, made, [], { content: 'text' });
  expect(RecordedProvenance.sourcesOf(made)).toEqual({
    '': ['input[1]', 'input[0]'],
    content: ['input[1].text', 'input[0].text'],
  });
});

it('a copy has the paths of the thing, and others of its own after that', () => {
  const thing = markedWith('input[0]');
  const copy = { ...thing };
  carry(copy, markedWith('input[1]'));
  expect(RecordedProvenance.sourcesOf(copy)).toEqual({ '': ['input[0]', 'input[1]'] });
  expect(RecordedProvenance.sourcesOf(thing)).toEqual({ '': ['input[0]'] });
});

it('things that are made of each other again and again have each path once, without reading any twice', () => {
  const [one, other] = [markedWith('input[0]'), markedWith('input[1]')];
  for (let times = 0; times < 100; times += 1) {
    carry(one, other);
    carry(other, one);
  }
  expect(RecordedProvenance.sourcesOf(one)).toEqual({ '': ['input[0]', 'input[1]'] });
});
