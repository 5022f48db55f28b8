import { describe, expect, it } from 'vitest';
import {
  argumentsOf,
  callItemOf,
  callItemPrefixOf,
  customInputOf,
  restoredToolOf,
} from '../../../../../src/filter/translate/response/tool-restoration.ts';
import { createTestContext } from '../../../../support/context.ts';

const context = createTestContext({
  restoredTools: {
    ns__read: { kind: 'function', name: 'read', namespace: 'ns' },
    patch: { kind: 'custom', name: 'apply patch' },
    search: { kind: 'tool_search' },
  },
});
const call = { id: 'x', callId: 'c', arguments: '{}', isCustom: false, status: 'completed' as const };

describe('callItemOf', () => {
  it('gives every kind of tool its own item and prefix', () => {
    const kinds = ['f', 'ns__read', 'patch', 'search'].map((name) => {
      const prefix = callItemPrefixOf(restoredToolOf({ name, isCustom: false }, context));
      const { type } = callItemOf({ ...call, name }, context);
      return `${prefix} ${type}`;
    });
    expect(kinds).toEqual(['fc function_call', 'fc function_call', 'ctc custom_tool_call', 'tsc tool_search_call']);
  });

  it('takes a native custom call’s input as it is', () => {
    const item = callItemOf({ ...call, name: 'patch', arguments: '{"input":"a"}', isCustom: true }, context);
    expect(item).toEqual({
      id: 'x',
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'c',
      name: 'apply patch',
      input: '{"input":"a"}',
    });
  });

  it('restores a native custom call by name only where it was a custom tool', () => {
    expect(restoredToolOf({ name: 'ns__read', isCustom: true }, context)).toEqual({ kind: 'custom', name: 'ns__read' });
  });

  it('passes a tool search on whose arguments are no JSON', () => {
    expect(callItemOf({ ...call, name: 'search', arguments: 'mail' }, context)).toMatchObject({ arguments: 'mail' });
  });
});

describe('customInputOf', () => {
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
    expect(customInputOf(text)).toBe(input);
  });
});

describe('argumentsOf', () => {
  it('makes nothing an empty object and touches nothing else', () => {
    const texts = ['', ' ', '{', '{}'];
    expect(texts.map((text) => argumentsOf(text, 'completed'))).toEqual(['{}', ' ', '{', '{}']);
    expect(texts.map((text) => argumentsOf(text, 'incomplete'))).toEqual(texts);
  });
});
