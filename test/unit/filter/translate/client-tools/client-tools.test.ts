import { describe, expect, it } from 'vitest';
import { clientTools } from '../../../../../src/filter/translate/client-tools/client-tools.ts';

const itemOf = (type: keyof typeof clientTools, given: object) =>
  clientTools[type].itemOf({ id: 'i', call_id: 'c' }, 'completed', JSON.stringify(given)) as unknown as {
    readonly action: object;
  };

describe('a number in the arguments of a call that its client runs', () => {
  it.each([
    [0, 0],
    [5000, 5000],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [-1, null],
    [1.5, null],
    [1e300, null],
    ['5000', null],
    [true, null],
    [null, null],
    [[5], null],
  ])('is a whole one from 0 on: %j is %j', (given, expected) => {
    expect(itemOf('shell', { commands: ['ls'], timeout_ms: given, max_output_length: given }).action).toEqual({
      commands: ['ls'],
      timeout_ms: expected,
      max_output_length: expected,
    });
    expect(itemOf('local_shell', { command: ['ls'], timeout_ms: given }).action).toEqual({
      type: 'exec',
      command: ['ls'],
      env: {},
      ...(expected !== null && { timeout_ms: expected }),
    });
  });
});
