import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const rangeOf = (size: number) => Array.from({ length: size }, (_, index) => index);
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' });

const clock = () => ({ now: () => 1, newId: createCountedIds() });

/** The object or array, and how often it is looked into. */
function counted<T extends object>(target: T): { readonly value: T; looks(): number } {
  let looks = 0;
  const count = <R>(result: R): R => {
    looks++;
    return result;
  };
  const value = new Proxy(target, {
    get: (object, key) => count(Reflect.get(object, key)),
    has: (object, key) => count(Reflect.has(object, key)),
    getOwnPropertyDescriptor: (object, key) => count(Reflect.getOwnPropertyDescriptor(object, key)),
  });
  return { value, looks: () => looks };
}

describe('a request that is wrong in many places', () => {
  const many = 50_000;
  const range = rangeOf(many);
  const wrong: readonly (readonly [string, object, (list: object) => object])[] = [
    ['input', range, (input) => ({ input })],
    ['content', range, (content) => ({ input: [{ role: 'user', content }] })],
    ['output', range, (output) => ({ input: [call('c'), { type: 'function_call_output', call_id: 'c', output }] })],
    ['reasoning', range, (content) => ({ input: [{ type: 'reasoning', content }] })],
    ['summaries', range, (summary) => ({ input: [{ type: 'reasoning', summary }] })],
    ['tools', range, (tools) => ({ input: 'x', tools })],
    ['tools of a namespace', range, (tools) => ({ input: 'x', tools: [{ type: 'namespace', name: 'n', tools }] })],
    ['tools in the input', range, (tools) => ({ input: [{ type: 'additional_tools', tools }] })],
    ['include', range, (include) => ({ input: 'x', include })],
    ['allowed tools', range, (tools) => ({ input: 'x', tool_choice: { type: 'allowed_tools', tools } })],
    [
      'metadata',
      Object.fromEntries(range.map((index) => [`k${index}`, index])),
      (metadata) => ({ input: 'x', metadata }),
    ],
  ];

  it.each(wrong)('is read no further than its first mistake: %s', (_name, list, bodyOf) => {
    const settings = createTestSettings({ limits: { maxItems: 10 * many, maxTools: 10 * many } });
    const { value, looks } = counted(list);
    const translate = () => translateRequest({ model: 'm', ...bodyOf(value) }, settings, clock());
    expect(translate).toThrow(ApiError);
    // `Object.keys` of a proxy asks for each key's descriptor: metadata is counted that way, at most twice.
    expect(looks()).toBeLessThan(Array.isArray(list) ? 50 : 2.1 * many);
  });

  it('names the first of several mistakes in an object of many keys, looking through it once for each step', () => {
    const item = {
      ...Object.fromEntries(range.map((index) => [`k${index}`, index])),
      namespace: 1,
      name: 2,
      call_id: 3,
    };
    const { value, looks } = counted({ type: 'function_call', arguments: 4, ...item });
    expect(() => translateRequest({ model: 'm', input: [value] }, createTestSettings(), clock())).toThrow(
      expect.objectContaining({ param: 'input[0].arguments' }),
    );
    expect(looks()).toBeLessThan(1.1 * many);
  });

  it('has a name for each of its fields only up to a limit', () => {
    const fields = Object.fromEntries(range.map((index) => [`k${index}`, index]));
    const body = { model: 'm', input: 'x' };
    for (const wide of [
      { ...body, ...fields },
      { ...body, text: fields },
      { ...body, reasoning: fields },
    ]) {
      expect(() => translateRequest(wide, createTestSettings(), clock())).toThrow(
        expect.objectContaining({ code: 'object_above_max_properties' }),
      );
    }
  });

  it('is not split where only one piece of it is wanted', () => {
    const file = (part: object) => ({
      model: 'm',
      input: [{ role: 'user', content: [{ type: 'input_file', ...part }] }],
    });
    const { chat } = translateRequest(
      file({ filename: `${'.'.repeat(10_000)}txt`, file_data: 'eA==' }),
      createTestSettings(),
      clock(),
    );
    expect(chat.messages[0]?.content).toContain(':\nx');
    expect(() =>
      translateRequest(file({ file_data: `data:${';'.repeat(2_000)},x` }), createTestSettings(), clock()),
    ).toThrow(expect.objectContaining({ param: 'input[0].content[0].file_data' }));
  });

  const long = 'x'.repeat(1_000_000);
  it.each<readonly [string, object]>([
    ['a field', { [long]: 1 }],
    ['a role', { input: [{ role: long, content: 'x' }] }],
    ['an item’s type', { input: [{ type: long }] }],
    ['a vendor’s type', { input: [{ type: `a:${long}` }] }],
    ['a part’s type', { input: [{ role: 'user', content: [{ type: long }] }] }],
    ['a tool’s type', { tools: [{ type: long }] }],
    ['a model', { model: long }],
    ['a namespace', { tools: [{ type: 'namespace', name: long, tools: [] }] }],
    ['a tool’s name', { tools: [{ type: 'function', name: long }] }],
    ['a call’s id', { input: [output(long)] }],
    ['a reference’s id', { input: [{ type: 'item_reference', id: long }] }],
    ['a choice', { tool_choice: long }],
    ['a choice’s name', { tool_choice: { type: 'function', name: long } }],
    ['a choice’s type', { tool_choice: { type: long } }],
    ['an effort', { reasoning: { effort: long } }],
    ['a key of metadata', { metadata: { [long]: 'x' } }],
    ['a previous response', { previous_response_id: long }],
    ['a form', { text: { format: { type: long } } }],
    ['a file’s type', { input: [{ role: 'user', content: [{ type: 'input_file', file_data: `data:${long},` }] }] }],
  ])('is not repeated at length in the error: %s', (_name, body) => {
    const settings = createTestSettings({ unknownFields: 'reject', unknownItems: 'reject' });
    try {
      translateRequest({ model: 'm', input: 'x', ...body }, settings, { now: () => 1, newId: createCountedIds() });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ApiError);
      expect((thrown as ApiError).toJson().length).toBeLessThan(1_000);
      return;
    }
    throw new Error('nothing was thrown');
  });

  it('names what it leaves out at no length, and in letters a header can hold', () => {
    const settings = createTestSettings({ unknownFields: 'ignore' });
    const { dropped } = translateRequest({ model: 'm', input: 'x', 'a\r\nb, ü': 1, [long]: 1 }, settings, clock());
    expect(dropped).toEqual(['a??b???', long.slice(0, 300)]);
  });
});
