import { expect, it } from 'vitest';
import { faultOf, type Requirement, requirements } from '../../../scripts/generate/requirements.ts';

const documents = requirements();

/** From FR-001 to FR-040: `numbered('FR-', 40, 3)`. */
const numbered = (prefix: string, count: number, digits = 1) =>
  Array.from({ length: count }, (_, index) => prefix + String(index + 1).padStart(digits, '0'));

/** The numbers that the documents give to what they ask of a service without state. */
const asked: Readonly<Record<string, readonly string[]>> = {
  '000': numbered('', 14),
  '001': numbered('', 5),
  '002': [
    ...['US1.1', 'US1.2', 'US1.3', 'US2.1', 'US2.2', 'US2.3', 'US2.4', 'US3.1', 'US3.2', 'US3.3'],
    ...numbered('US4.', 3),
    ...numbered('E', 6),
    ...numbered('FR-', 40, 3),
    ...['FR-007a', 'FR-012a', 'FR-012b', 'FR-022a', 'FR-024a', 'FR-028a', 'FR-029a', 'FR-029b', 'FR-029c'],
    ...numbered('SC-', 6, 3),
  ],
  '003': [
    ...['Started', 'Completed', 'Failed', 'Cancelled', 'Usage', 'Error', 'Ping', 'Text', 'Call', 'Result', 'Thinking'],
    ...['EndTurn', 'MaxTokens', 'StopSequence', 'ToolUse', 'Refusal', 'Parts', 'Arguments'],
  ],
  '004': [
    ...['input', 'model', 'previous_response_id', 'conversation', 'store', 'stream', 'temperature', 'text', 'tools'],
    ...['tool_choice', 'parallel_tool_calls', 'max_tool_calls', 'prompt', 'instructions', 'guardrails'],
    ...['max_infer_iters', 'metadata', 'include'],
  ],
};

it('has every requirement of every document', () => {
  expect(documents.map(({ document }) => document)).toEqual(Object.keys(asked));
  for (const { document, rows } of documents) {
    const numbers = new Set(rows.map(({ id }) => id.split(' ')[0]));
    expect(
      asked[document]?.filter((number) => !numbers.has(number)),
      document,
    ).toEqual([]);
  }
});

it('has each of them once', () => {
  for (const { document, rows } of documents)
    expect(new Set(rows.map(({ id }) => id)).size, document).toBe(rows.length);
});

const row: Requirement = {
  id: 'X',
  asks: 'x',
  is: 'met',
  shown: ['test/golden/request-messages.md#null-is-the-same-as-absent'],
};

it.each([
  [{ shown: [] }, 'no golden case and no test shows it'],
  [{ shown: ['test/golden/request-messages.md#gone'] }, 'there is no case test/golden/request-messages.md#gone'],
  [{ shown: ['test/golden/request-messages.md'] }, 'there is no case test/golden/request-messages.md'],
  [{ shown: ['test/unit/gone.test.ts'] }, 'there is no test/unit/gone.test.ts'],
  [{ is: 'differs' as const }, 'it does not say why'],
  [{ why: 'It is.' }, 'what is met needs no reason'],
  [{ shown: ['test/golden/request-limits.md#a-long-sound'] }, 'its cases set something: say when it is met'],
  [{ shown: ['test/golden/request-limits.md#a-long-sound'], when: 'a limit is set' }, null],
  [{ when: 'a limit is set' }, 'a case with the default settings shows it without a condition'],
  [{ is: 'differs' as const, why: 'x', when: 'y' }, 'only what is met has a condition'],
  [{ asks: 'max_infer_iters' }, 'nothing that shows it has the word max_infer_iters'],
  [{ is: 'open' as Requirement['is'] }, '“open” is not met, differs or refused'],
  [{}, null],
])('a row with %j: %s', (change, fault) => {
  expect(faultOf({ ...row, ...change })).toBe(fault);
});
