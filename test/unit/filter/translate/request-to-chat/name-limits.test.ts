import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds, createdAt } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const text = (length: number) => 'n'.repeat(length);
const output = { type: 'function_call_output', call_id: 'a', output: 'x' };
const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
const f = { type: 'function', name: 'f' };
const deep = { type: 'namespace', name: 'n', tools: [f] };
const acme = (length: number) => `acme:${text(length - 5)}`;
const name = 512;
const id = 16_384;

type Fields = Readonly<Record<string, unknown>>;
const cases: readonly (readonly [param: string, most: number, request: (length: number) => Fields])[] = [
  ['input[0].id', id, (length) => ({ input: [{ role: 'user', content: 'x', id: text(length) }] })],
  ['input[0].type', name, (length) => ({ input: [{ type: acme(length), text: 'x' }] })],
  [
    'input[0].content[0].type',
    name,
    (length) => ({ input: [{ role: 'user', content: [{ type: acme(length), text: 'x' }] }] }),
  ],
  ['input[0].call_id', id, (length) => ({ input: [{ ...call, call_id: text(length) }] })],
  ['input[0].name', name, (length) => ({ input: [{ ...call, name: text(length) }, output] })],
  ['input[0].namespace', name, (length) => ({ input: [{ ...call, namespace: text(length) }, output] })],
  ['input[1].call_id', id, (length) => ({ input: [call, { ...output, call_id: text(length) }] })],
  ['input[1].name', name, (length) => ({ input: [call, { ...output, name: text(length) }] })],
  [
    'input[0].call_id',
    id,
    (length) => ({ input: [{ type: 'shell_call', call_id: text(length), action: { commands: [] } }] }),
  ],
  ['tools[0].type', name, (length) => ({ tools: [{ type: acme(length) }] })],
  ['tools[0].name', name, (length) => ({ tools: [{ ...deep, name: text(length) }] })],
  ['tools[0].tools[0].name', name, (length) => ({ tools: [{ ...deep, tools: [{ ...f, name: text(length) }] }] })],
  ['tool_choice.name', name, (length) => ({ tools: [f], tool_choice: { ...f, name: text(length) } })],
  [
    'text.format.name',
    name,
    (length) => ({ text: { format: { type: 'json_schema', name: text(length), schema: {} } } }),
  ],
];

/** The error that such a request gets; null for none. */
function errorOf(fields: Fields): { readonly code: string; readonly param: string; readonly message: string } | null {
  const settings = createTestSettings({ missingOutputs: 'synthesize', orphanOutputs: 'synthesize' });
  try {
    translateRequest({ model: 'm', input: 'x', ...fields }, settings, {
      now: () => createdAt,
      newId: createCountedIds(),
    });
    return null;
  } catch (thrown) {
    return thrown as NonNullable<ReturnType<typeof errorOf>>;
  }
}

describe('a name, a type or an id that is repeated for what refers to it', () => {
  it.each(cases)('is refused where it is too long: %s above %i', (param, most, request) => {
    expect(errorOf(request(most + 1))).toMatchObject({
      status: 400,
      code: 'string_above_max_length',
      param,
      message: `Invalid '${param}': it is too long. Expected at most ${most} characters, but got ${most + 1}.`,
    });
    expect(errorOf(request(most))?.code).not.toBe('string_above_max_length');
  });
});
