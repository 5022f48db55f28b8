import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings, type SettingsOverrides } from '../../../../support/settings.ts';

/** What the tables of the request's translation say, row by row: a golden case needs only some of each. */
function translated(body: object, settings: SettingsOverrides = {}) {
  const given = { model: 'm', input: 'x', ...body };
  return translateRequest(given, createTestSettings(settings), { now: () => 1, newId: createCountedIds() });
}

function chatFor(body: object, settings: SettingsOverrides = {}) {
  return translated(body, settings).chat;
}

describe('a field of the Chat Completions API is refused, with what this API has instead:', () => {
  it.each([
    ['messages', `'input'`],
    ['max_tokens', `'max_output_tokens'`],
    ['max_completion_tokens', `'max_output_tokens'`],
    ['response_format', `'text.format'`],
    ['reasoning_effort', `'reasoning.effort'`],
    ['verbosity', `'text.verbosity'`],
    ['functions', `'tools'`],
    ['function_call', `'tool_choice'`],
    ['logprobs', `'top_logprobs', or "include": ["message.output_text.logprobs"]`],
  ])('%s', (name, instead) => {
    const message = `'${name}' belongs to the Chat Completions API. In the Responses API use ${instead}.`;
    expect(() => chatFor({ [name]: 1 })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: name, message }),
    );
  });
});

const timeout = {
  type: ['integer', 'null'],
  description: 'Milliseconds after which a command is ended; null for the default.',
};

describe('a tool that the client runs is offered as a function:', () => {
  it.each([
    [
      { type: 'shell' },
      'shell',
      {
        commands: { type: 'array', items: { type: 'string' }, description: 'Commands, each a line for the shell.' },
        timeout_ms: timeout,
        max_output_length: {
          type: ['integer', 'null'],
          description: 'Characters of output to return; null for all.',
        },
      },
      ['commands'],
    ],
    [
      { type: 'local_shell' },
      'local_shell',
      {
        command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
        env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables to set.' },
        timeout_ms: timeout,
        working_directory: {
          type: ['string', 'null'],
          description: 'Where it runs; null for the current directory.',
        },
      },
      ['command'],
    ],
    [
      { type: 'apply_patch' },
      'apply_patch',
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: { type: 'string', description: 'The file, relative to the workspace.' },
        diff: { type: ['string', 'null'], description: 'The change; null to delete the file.' },
      },
      ['type', 'path', 'diff'],
    ],
    [
      { type: 'custom', name: 'c' },
      'c',
      { input: { type: 'string', description: 'The free-form text this tool takes.' } },
      ['input'],
    ],
  ])('%j', (tool, name, properties, required) => {
    const parameters = { type: 'object', properties, required, additionalProperties: false };
    const [offered] = chatFor({ tools: [tool] }).tools ?? [];
    expect(offered).toMatchObject({ type: 'function', function: { name } });
    expect(JSON.parse(JSON.stringify(offered)).function.parameters).toEqual(parameters);
  });
});

it.each([
  ['computer', "Tools of type 'computer' run on OpenAI's servers"],
  ['computer_use', "Tools of type 'computer_use' run on OpenAI's servers"],
  ['computer_use_preview', "Tools of type 'computer_use_preview' run on OpenAI's servers"],
  ['code_interpreter', "Tools of type 'code_interpreter' run on OpenAI's servers"],
  ['file_search', "Tools of type 'file_search' run on OpenAI's servers"],
  ['mcp', "Tools of type 'mcp' run on OpenAI's servers"],
])('a tool of type %s is refused as one that OpenAI runs', (type, message) => {
  expect(() => chatFor({ tools: [{ type }] }, { droppedTools: [] })).toThrow(message);
});

it('base64 that has other characters in it is refused, not read without them', () => {
  const file = (data: string) => [
    { role: 'user', content: [{ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${data}` }] },
  ];
  expect(chatFor({ input: file('SGk=') }).messages).toEqual([{ role: 'user', content: 'a.txt:\nHi' }]);
  expect(() => chatFor({ input: file('SGk*') })).toThrow(`'input[0].content[0].file_data': it is not base64`);
});

it('the output of a shell may be a text', () => {
  const input = [
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    { type: 'shell_call_output', call_id: 'c', output: 'plain' },
  ];
  const { messages } = chatFor({ input, tools: [{ type: 'shell' }] });
  expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c', content: 'plain' });
});

it('a search for tools without arguments is a call with an empty object', () => {
  const input = [
    { type: 'tool_search_call', call_id: 'c', arguments: null, execution: 'client' },
    { type: 'tool_search_output', call_id: 'c', tools: [], execution: 'client' },
  ];
  const { messages } = chatFor({ input, tools: [{ type: 'tool_search', execution: 'client' }] });
  expect(messages[0]).toMatchObject({ tool_calls: [{ function: { name: 'tool_search', arguments: '{}' } }] });
});

it.each([
  ['About it.', 'About it.\n'],
  ['', ''],
  [null, ''],
])('a schema in the prompt begins with its description, if it has one: %j', (description, begins) => {
  const format = { type: 'json_schema', name: 'n', schema: { type: 'object' }, description };
  const { messages } = chatFor({ text: { format } }, { profile: { extends: 'generic', jsonSchema: 'prompt' } });
  expect(messages[0]?.content).toMatch(new RegExp(`^${begins}Answer with JSON that conforms`));
});

it.each([
  ['temperature', 1],
  ['top_p', 1],
  ['presence_penalty', 0],
  ['frequency_penalty', 0],
])('nothing is said of a %s that the server refuses, if it is the API’s default, %d', (name, byDefault) => {
  const settings = { profile: { extends: 'generic', refusedFields: [name] } } as const;
  for (const value of [byDefault, null, undefined]) {
    const { chat, dropped } = translated({ [name]: value }, settings);
    expect(chat).not.toHaveProperty(name);
    expect(dropped).toEqual([]);
  }
});

it.each(['temperature', 'top_p'])('any other %s that the server refuses is dropped and named', (name) => {
  const settings = { profile: { extends: 'generic', refusedFields: [name] } } as const;
  for (const value of [0, 0.5]) {
    const { chat, dropped } = translated({ [name]: value }, settings);
    expect(chat).not.toHaveProperty(name);
    expect(dropped).toEqual([name]);
  }
});

it.each([
  ['reasoning_effort', []],
  ['reasoning_object', []],
  ['thinking_and_effort', []],
  ['thinking_type', ['reasoning.effort.low']],
  ['thinking_keep', ['reasoning.effort.low']],
  ['enable_thinking', ['reasoning.effort.low']],
  ['none', ['reasoning.effort']],
] as const)('of an effort as %s, %j is lost', (reasoningEffort, dropped) => {
  const settings = { profile: { extends: 'generic', reasoningEffort } } as const;
  expect(translated({ reasoning: { effort: 'low' } }, settings).dropped).toEqual(dropped);
});

it.each([
  ['a.png', 'image/png'],
  ['a.jpg', 'image/jpeg'],
  ['a.JPEG', 'image/jpeg'],
  ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['a.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['a.pdf', 'application/pdf'],
  ['png', 'image/png'],
  ['a.unknown', 'application/pdf'],
  [null, 'application/pdf'],
])('bare data of a file called %s is %s', (filename, mime) => {
  const content = [{ type: 'input_file', filename, file_data: 'AAAA' }];
  const { messages } = chatFor({ input: [{ role: 'user', content }] }, { profile: { extends: 'openai' } });
  expect(messages[0]?.content).toEqual([
    { type: 'file', file: { filename: filename ?? 'file.pdf', file_data: `data:${mime};base64,AAAA` } },
  ]);
});

it('a file of text is joined with the texts around it, in lines of its own', () => {
  const content = [
    { type: 'input_text', text: 'Before' },
    { type: 'input_file', filename: 'a.txt', file_data: 'SGk=' },
    { type: 'input_text', text: 'after' },
  ];
  const { messages } = chatFor({ input: [{ role: 'user', content }] });
  expect(messages).toEqual([{ role: 'user', content: 'Before\na.txt:\nHi\nafter' }]);
});

it.each(['undefined', 'null'])('an output without an id and a name is not that of a tool called %s', (name) => {
  const input = [
    { type: 'function_call', call_id: 'c', name, arguments: '{}' },
    { type: 'function_call_output', output: 'x' },
  ];
  expect(() => chatFor({ input })).toThrow(expect.objectContaining({ param: 'input[1].call_id' }));
});
