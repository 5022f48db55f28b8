import { describe, expect, test } from 'vitest';
import {
  ChoiceParts,
  isEmptyDelta,
  readChoices,
} from '../../../../../../src/filter/translate/chat-to-response/read/choices.ts';
import type { LooseMessage } from '../../../../../../src/filter/wire/schema/chat-completion.ts';

const parts = {
  text: ['content', 'refusal', 'audio', 'annotations', 'search_results', 'citations'],
  reasoning: [
    ...['reasoning_content', 'reasoning', 'reasoning_text', 'reasoning_details'],
    ...['thinking', 'thinking_blocks'],
  ],
  calls: ['tool_calls', 'function_call'],
} as const satisfies Record<string, readonly (keyof LooseMessage)[]>;

const fields = Object.entries(parts).flatMap(([part, names]) => names.map((name) => [name, part, names] as const));

/** What counts of the second choice, once the first has had that field. */
function ownOfSecond(name: keyof LooseMessage, second: LooseMessage): LooseMessage {
  const choices = new ChoiceParts();
  expect(choices.assignKeys([{ index: 0 }, { index: 1 }])).toEqual([0, 1]);
  choices.pickOwn(0, { [name]: 'a' });
  return choices.pickOwn(1, second);
}

describe.each(fields)('%s is %s', (name, part, names) => {
  test('where a choice has it, the others give nothing of that part', () => {
    for (const other of names)
      expect(ownOfSecond(other, { [name]: 'b', role: 'assistant' })).toEqual({ role: 'assistant' });
  });

  test('of another choice it counts beside any other part', () => {
    for (const [other, of] of fields)
      if (of !== part) expect(ownOfSecond(other, { [name]: 'b' })).toEqual({ [name]: 'b' });
  });

  test.each([null, undefined, '', []])('it is not given as %j', (nothing) => {
    expect(isEmptyDelta({ [name]: nothing })).toBe(true);
    expect(isEmptyDelta({ [name]: 'a' })).toBe(false);
  });
});

test('a choice without an index is the first that had one', () => {
  const choices = new ChoiceParts();
  expect([choices.assignKeys([{ index: 1 }]), choices.assignKeys([{}, {}])]).toEqual([[1], [1, 1]]);
  expect(choices.areSeveral).toBe(false);
});

describe('of lone choices under rising indexes', () => {
  const assignKeys = (indexes: readonly number[]) => {
    const choices = new ChoiceParts();
    return indexes.map((index) => choices.assignKeys([{ index }])[0]);
  };
  test('all are the first, unless that is 0', () => {
    expect(assignKeys([197, 198, 199, 199, 201, 0])).toEqual([197, 197, 197, 197, 197, 197]);
    expect(assignKeys([0, 1, 2])).toEqual([0, 1, 2]);
  });
  test('each is its own where the first came again, or a lower one', () => {
    expect(assignKeys([1, 1, 2, 1, 2])).toEqual([1, 1, 2, 1, 2]);
    expect(assignKeys([2, 1, 3])).toEqual([2, 1, 3]);
  });
});

test('a role, an extra and an unknown field are no part of an answer', () => {
  expect(isEmptyDelta({ role: 'assistant', extra_content: { a: 1 }, ...{ toString: 'a' } })).toBe(true);
});

describe('the first choice', () => {
  const [first, second] = [{ index: 1 }, { index: 0 }];
  test('is that of index 0, wherever it is', () =>
    expect(readChoices({ choices: [first, null, second] })).toEqual([second, first]));
  test('is the first where none has that index', () => expect(readChoices({ choices: [first, {}] })[0]).toBe(first));
  test.each([null, undefined, [], [null], {}])('is none in %j', (choices) =>
    expect(readChoices({ choices })).toEqual([]),
  );
});
