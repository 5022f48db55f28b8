import { describe, expect, it } from 'vitest';
import {
  buildCallItem,
  writtenArguments,
} from '../../../../../../src/filter/translate/chat-to-response/write/call-item-writers.ts';
import { readCustomInput } from '../../../../../../src/filter/translate/chat-to-response/write/custom-input.ts';
import { CalledNames } from '../../../../../../src/filter/translate/chat-to-response/write/tool-calls.ts';
import type { RestoredTool } from '../../../../../../src/filter/translate/shared/context.ts';
import { createTestContext } from '../../../../../support/context.ts';

const context = createTestContext({
  restoredTools: {
    ns__read: { kind: 'function', name: 'read', namespace: 'ns' },
    patch: { kind: 'custom', name: 'apply patch' },
    search: { kind: 'tool_search' },
  },
});
const ids = { id: 'x', call_id: 'c' };

function toolOf(name: string): RestoredTool {
  return new CalledNames(context).restore(name, false);
}

describe('buildCallItem', () => {
  it('gives every kind of tool its own item', () => {
    const types = ['f', 'ns__read', 'patch', 'search'].map(
      (name) => buildCallItem(toolOf(name), ids, 'completed', '{}').type,
    );
    expect(types).toEqual(['function_call', 'function_call', 'custom_tool_call', 'tool_search_call']);
  });

  it('takes the input of a custom tool as it is', () => {
    expect(buildCallItem(toolOf('patch'), ids, 'completed', '{"input":"a"}')).toEqual({
      id: 'x',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'c',
      name: 'apply patch',
      input: '{"input":"a"}',
    });
  });

  it('restores a native custom call by name only where it was a custom tool', () => {
    const names = new CalledNames(context);
    expect(names.restore('patch', true)).toEqual({ kind: 'custom', name: 'apply patch' });
    expect(names.restore('ns__read', true)).toEqual({ kind: 'custom', name: 'ns__read' });
  });

  it('passes a tool search on whose arguments are no JSON', () => {
    expect(buildCallItem(toolOf('search'), ids, 'completed', 'mail')).toMatchObject({ arguments: 'mail' });
  });
});

describe('readCustomInput', () => {
  it.each([
    ['{"input":"a"}', 'a'],
    ['{"input":"","other":"b"}', ''],
    ['{"input":3,"text":"b"}', 'b'],
    ['{"text":"b","n":1}', 'b'],
    ['{"a":"b","c":"d"}', '{"a":"b","c":"d"}'],
    ['{"n":1}', '{"n":1}'],
    ['{}', ''],
    ['', ''],
    ['"a"', 'a'],
    ['["a"]', '["a"]'],
    ['12', '12'],
    ['{"input":"a', 'a'],
    ['*** Begin', '*** Begin'],
  ])('reads %s as %s', (text, input) => {
    expect(readCustomInput(text)).toBe(input);
  });
});

describe('writtenArguments', () => {
  it('makes nothing an empty object and touches nothing else', () => {
    const texts = ['', ' ', '{', '{}'];
    expect(texts.map((text) => writtenArguments(text, 'completed'))).toEqual(['{}', ' ', '{', '{}']);
    expect(texts.map((text) => writtenArguments(text, 'incomplete'))).toEqual(texts);
  });
});

describe('the name that a model calls a tool by', () => {
  const offered = createTestContext({
    toolNames: ['look', 'x', '<|odd', 'functions.own'],
    restoredTools: {
      a__read: { kind: 'function', name: 'read', namespace: 'a' },
      b__read: { kind: 'function', name: 'read', namespace: 'b' },
      a__write: { kind: 'function', name: 'write', namespace: 'a' },
      mcp__send: { kind: 'function', name: 'send', namespace: 'mcp__mail__' },
    },
  });

  it.each([
    ['look', 'look'],
    ['look<|channel|>commentary', 'look'],
    ['look <|channel|>', 'look'],
    ['x<|channel|>', 'x'],
    ['functions.look', 'look'],
    ['functions.look<|channel|>json', 'look'],
    ['functions.own', 'functions.own'],
    ['my.functions.look', 'my.functions.look'],
    // A marker alone is no name.
    ['<|channel|>', '<|channel|>'],
    ['<|odd', '<|odd'],
    // A namespace is left out where one tool alone has that name.
    ['write', 'a__write'],
    ['read', 'read'],
    ['functions.write', 'a__write'],
    ['send', 'mcp__send'],
    ['mcp__mail__send', 'mcp__send'],
    ['awrite', 'awrite'],
    ['unknown<|channel|>', 'unknown'],
  ])('%s is %s', (name, expected) => {
    expect(new CalledNames(offered).find(name)).toBe(expected);
  });
});
