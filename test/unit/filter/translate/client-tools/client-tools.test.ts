import { describe, expect, it } from 'vitest';
import { clientItemOf } from '../../../../../src/filter/translate/client-tools/client-tool.ts';
import { clientTools } from '../../../../../src/filter/translate/client-tools/client-tools.ts';

const itemOf = (type: keyof typeof clientTools, given: object) =>
  clientItemOf(clientTools[type], { id: 'i', call_id: 'c' }, 'completed', JSON.stringify(given)) as unknown as {
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

describe('a call that its client runs', () => {
  const runnable = (type: keyof typeof clientTools, given: unknown) =>
    clientTools[type].isRunnable?.(
      clientItemOf(clientTools[type], { id: 'i', call_id: 'c' }, 'completed', JSON.stringify(given)),
    );

  it.each([
    ['shell', { commands: ['ls'] }, { commands: [] }],
    ['shell', { commands: 'ls' }, { commands: [5] }],
    ['shell', { commands: [''] }, {}],
    ['local_shell', { command: ['ls'] }, { command: [] }],
    ['local_shell', { command: 'ls' }, { command: [null] }],
    ['local_shell', { command: [''] }, null],
    ['apply_patch', { type: 'delete_file', path: 'a' }, { type: 'delete_file', path: '' }],
    ['apply_patch', { operation: { type: 'create_file', path: 'a' } }, { operation: { type: 'create_file' } }],
    ['apply_patch', { type: 'update_file', path: 'a' }, { type: 'rename_file', path: 'a' }],
  ] as const)('has something to run, or nothing: %s of %j, and of %j', (type, full, empty) => {
    expect(runnable(type, full)).toBe(true);
    expect(runnable(type, empty)).toBe(false);
  });
});

it('who runs a command, and where, is there if the model says so', () => {
  const action = { type: 'exec', command: ['ls'], env: {} };
  expect(itemOf('local_shell', { command: 'ls', user: 'root', working_directory: '/tmp' }).action).toEqual({
    ...action,
    user: 'root',
    working_directory: '/tmp',
  });
  expect(itemOf('local_shell', { command: 'ls', user: null, working_directory: null }).action).toEqual(action);
  expect(
    itemOf('local_shell', { command: ['ls', 5], env: { A: 'b', C: 5 }, user: 5, working_directory: [] }).action,
  ).toEqual({
    ...action,
    env: { A: 'b' },
  });
});
