import { describe, expect, it } from 'vitest';
import { type FieldRow, requestFields } from '../../../../../src/filter/translate/shared/request-fields.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings, type SettingsOverrides } from '../../../../support/settings.ts';

const translate = (body: object, settings: SettingsOverrides = {}) =>
  translateRequest({ model: 'm', ...body }, createTestSettings(settings), { now: () => 1, newId: createCountedIds() });

/** Items of OpenAI's API that belong to tools its own servers run. */
const items = [
  'web_search_call',
  'file_search_call',
  'computer_call',
  'computer_call_output',
  'image_generation_call',
  'code_interpreter_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'program',
  'program_output',
];

describe.each(items)('an item of type %s', (type) => {
  const body = { input: [{ role: 'user', content: 'x' }, { type }, { role: 'assistant', content: 'y' }] };

  it('is known, and refused where the settings say so', () => {
    expect(() => translate(body, { unknownItems: 'reject' })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'input[1].type' }),
    );
  });

  it('is left out and named', () => {
    expect(translate(body).dropped).toEqual([`input[1].${type}`]);
  });
});

/** Tools of OpenAI's API that run there. */
const tools = [
  'web_search',
  'web_search_preview',
  'file_search',
  'mcp',
  'code_interpreter',
  'image_generation',
  'computer',
  'computer_use',
  'computer_use_preview',
  'programmatic_tool_calling',
  'web_search_preview_2025_03_11',
];

it.each(tools)('a tool of type %s is known and refused, not taken for a mistake', (type) => {
  expect(() => translate({ input: 'x', tools: [{ type }] }, { droppedTools: [] })).toThrow(
    expect.objectContaining({ code: 'unsupported_parameter', param: 'tools[0].type' }),
  );
});

const namesOfFate = (fate: FieldRow['fate']) =>
  [...requestFields].flatMap(([name, row]) => (row.fate === fate && row.shape === undefined ? [name] : []));

it.each(namesOfFate('passed_on'))('%s is passed on whatever is done with unknown fields', (name) => {
  const { passthrough } = translate({ input: 'x', [name]: 1 }, { unknownFields: 'reject' });
  expect([...passthrough]).toEqual([[name, 1]]);
});

it.each(namesOfFate('named'))('%s is named and not passed on, whatever is done with unknown fields', (name) => {
  const body = { input: 'x', [name]: { enabled: false } };
  for (const unknownFields of ['forward', 'reject'] as const) {
    const { passthrough, dropped } = translate(body, { unknownFields });
    expect({ passed: [...passthrough], dropped }).toEqual({ passed: [], dropped: [name] });
  }
});

/** What hosted tools would add to their own items, none of which occur here. */
const includes = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'message.input_image.image_url',
];

it.each(includes)('an include of %s is accepted: there is nothing it could leave out', (value) => {
  expect(translate({ input: 'x', include: [value] }).dropped).toEqual([]);
});
