import type { SettingsOverrides } from './settings.ts';

/** A request whose fields are explained: those of its body beside a model and an input, or these alone. */
interface Row {
  readonly body: Readonly<Record<string, unknown>>;
  readonly settings?: SettingsOverrides;
  /** Paths of fields, as with `--field`. */
  readonly fields?: readonly string[];
}

const user = (content: unknown) => ({ role: 'user', content });
const text = (words: string, more: object = {}) => ({ type: 'input_text', text: words, ...more });
const said = (content: unknown) => ({ role: 'assistant', content });
const call = { type: 'function_call', call_id: 'c1', id: 'fc_1', name: 'f', arguments: '{"a":1}' };
const output = { type: 'function_call_output', call_id: 'c1', output: 'done' };
const customCall = { type: 'custom_tool_call', call_id: 'c2', name: 'run', input: 'ls' };
const customOutput = { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' };
const f = { type: 'function', name: 'f', parameters: { type: 'object', properties: { a: { type: 'number' } } } };
const g = { type: 'function', name: 'g', description: 'G', strict: true, parameters: { type: 'object' } };
const run = { type: 'custom', name: 'run', description: 'Runs' };
const image = (more: object = {}) => ({ type: 'input_image', image_url: 'https://x.test/a.png', ...more });
const reasoning = (more: object = {}) => ({
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  ...more,
});

const merging: SettingsOverrides = { profile: { extends: 'generic', alternateRoles: true } };
const withFlags = (flags: object): SettingsOverrides => ({ profile: { extends: 'generic', ...flags } });

/** By what is said of them in `test/golden/explain/fates.txt`. */
export const explainedRequests: Readonly<Record<string, Row>> = {
  'a message as text, and its parts': {
    body: { input: [user('Hi'), user([text('Hi')]), user([text('a'), text('b')])] },
    fields: [
      'input',
      'input[0].content',
      'input[0].role',
      'input[1].content[0].text',
      'input[2].content',
      'input[1].content[0].type',
    ],
  },
  'parts of text for a server of plain text': {
    body: {
      input: [
        user([text('a'), text('b')]),
        said([
          { type: 'output_text', text: 'c' },
          { type: 'refusal', refusal: 'd' },
        ]),
      ],
    },
    settings: withFlags({ arrayContent: false }),
  },
  'a refusal, with and without text': {
    body: {
      input: [
        user('Hi'),
        said([{ type: 'refusal', refusal: 'No.' }]),
        user('So?'),
        said([
          { type: 'output_text', text: 'Hm', annotations: [] },
          { type: 'refusal', refusal: 'No.' },
        ]),
        user('So?'),
      ],
    },
  },
  'images with and without a detail': {
    body: {
      input: [user([text('Look'), image({ detail: 'auto' })]), user([image({ detail: 'low' })]), user([image()])],
    },
    fields: ['input', 'input[0].content[1].detail', 'input[1].content[0].image_url', 'input[1].content[0].detail'],
  },
  'an image for a server that takes none': {
    body: { input: [user([text('Look'), image()])] },
    settings: withFlags({ image: 'omit' }),
  },
  'files and sound': {
    body: {
      input: [
        user([
          { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGVsbG8=' },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ]),
      ],
    },
  },
  'users in a row that become one': {
    body: { input: [user('a'), user('b'), user([text('c'), image()])] },
    settings: merging,
  },
  'a user alone who stays so': { body: { input: [user('a'), said('b'), user('c')] }, settings: merging },
  'systems at the start and later': {
    body: {
      instructions: 'one',
      input: [
        { role: 'system', content: 'two' },
        { role: 'developer', content: 'three' },
        user('a'),
        { role: 'system', content: 'four' },
        user('b'),
      ],
    },
  },
  'developers where they are known': {
    body: { instructions: 'one', input: [{ role: 'developer', content: 'two' }, user('a')] },
    settings: { profile: 'openai' },
  },
  'systems that may stand anywhere': {
    body: { instructions: 'one', input: [{ role: 'system', content: 'two' }, user('a')] },
    settings: withFlags({ systemMessages: 'anywhere' }),
  },
  'nobody but an assistant': {
    body: { input: [said('a')] },
    settings: withFlags({ needsUser: true, alternateRoles: true }),
  },
  'a call and its output': {
    body: { input: [user('x'), call, output], tools: [f] },
    fields: [
      'input',
      'input[1].call_id',
      'input[1].id',
      'input[1].name',
      'input[1].arguments',
      'input[2].output',
      'input[2].call_id',
      'tools[0].name',
    ],
  },
  'a call that a message begins': {
    body: {
      input: [user('x'), said('I call.'), call, { ...call, call_id: 'c9' }, output, { ...output, call_id: 'c9' }],
      tools: [f],
    },
  },
  'a call with an object, and an output with parts': {
    body: {
      input: [
        { ...call, arguments: { a: 1 } },
        { ...output, output: [text('one'), image({ detail: 'high' })] },
      ],
      tools: [f],
    },
  },
  'calls for a server of short ids': {
    body: { input: [user('x'), call, output] },
    settings: withFlags({ callIdForm: 'alphanumeric_9' }),
  },
  'calls for a server of single ones': {
    body: { input: [call, { ...call, call_id: 'c3' }, output, { ...output, call_id: 'c3' }], tools: [f] },
    settings: withFlags({ singleCalls: true, emptyAssistantContent: 'empty' }),
  },
  'calls for Gemini': { body: { input: [user('x'), call, output], tools: [f] }, settings: { profile: 'gemini' } },
  'calls without tools for a server that wants some': {
    body: { input: [user('x'), call, output] },
    settings: withFlags({ stubTools: true }),
  },
  'custom calls, wrapped': { body: { input: [customCall, customOutput], tools: [run] } },
  'custom calls, as they are': {
    body: { input: [customCall, customOutput], tools: [run] },
    settings: { profile: 'openai' },
  },
  'custom tools that are strict': { body: { tools: [run] }, settings: withFlags({ customTools: 'wrapped_strict' }) },
  'an output without a call': { body: { input: [output] }, settings: { orphanOutputs: 'synthesize' } },
  'a call without an output': { body: { input: [call, user('go on')] }, settings: { missingOutputs: 'synthesize' } },
  'a user after an output': {
    body: { input: [user('x'), call, output, user('y')], tools: [f] },
    settings: withFlags({ assistantAfterTool: true }),
  },
  'reasoning that is not given back': { body: { input: [user('x'), reasoning(), said('y'), user('z')] } },
  'reasoning before a call': {
    body: { input: [user('x'), reasoning({ id: 'rs_1' }), call, output], tools: [f] },
    settings: { profile: 'vllm' },
    fields: ['input', 'input[1].summary', 'input[1].summary[0].text', 'input[1].id'],
  },
  'reasoning with content, and after it text': {
    body: {
      input: [
        user('x'),
        reasoning({ summary: [], content: [{ type: 'reasoning_text', text: 'Hm!' }] }),
        said('y'),
        user('z'),
      ],
    },
    settings: { profile: 'vllm' },
  },
  'reasoning that is sealed': {
    body: {
      include: ['reasoning.encrypted_content'],
      input: [user('x'), reasoning({ encrypted_content: 'abc' }), said('y')],
    },
    settings: { profile: 'deepseek' },
  },
  'items that no server has': {
    body: {
      input: [
        user('x'),
        { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
        { type: 'unheard_of', text: 'what' },
        { type: 'item_of', nothing: 1 },
        { type: 'message', role: 'assistant', phase: 'commentary', status: 'completed', content: 'y' },
      ],
    },
  },
  'keys of items that are unknown': {
    body: {
      input: [
        { ...user([text('a', { odd: 1 })]), odd: 2 },
        { ...call, odd: 3 },
        { ...output, odd: 4 },
      ],
      tools: [{ ...f, odd: 5 }],
    },
  },
  'items that change what follows': {
    body: {
      input: [
        { type: 'configuration_update', reasoning: { effort: 'high' } },
        user('x'),
        { type: 'compaction_trigger' },
      ],
    },
  },
  'tools of all kinds': {
    body: {
      tools: [
        f,
        g,
        run,
        { type: 'web_search' },
        { type: 'local_shell' },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'h', parameters: { type: 'object' } }] },
        { type: 'unheard_of' },
      ],
    },
  },
  'parts of a tool': {
    body: { tools: [g, f] },
    fields: [
      'tools',
      'tools[0].description',
      'tools[0].strict',
      'tools[1].parameters',
      'tools[1].parameters.properties.a',
      'tools[1].parameters.properties.b',
    ],
  },
  'tools that are not strict': { body: { tools: [g] }, settings: withFlags({ strict: false }) },
  'tools for a server without': { body: { tools: [f], tool_choice: 'auto' }, settings: withFlags({ tools: false }) },
  ...Object.fromEntries(
    Object.entries({
      none: 'none',
      required: 'required',
      'one function': { type: 'function', name: 'g' },
      'some of them': { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
    }).flatMap(([name, choice]) =>
      (['generic', 'openai', 'ollama'] as const).map((profile) => [
        `the choice of ${name}, for ${profile}`,
        { body: { tools: [f, g], tool_choice: choice }, settings: { profile }, fields: ['tool_choice', 'tools'] },
      ]),
    ),
  ),
  'a schema for the answer': {
    body: {
      text: {
        format: { type: 'json_schema', name: 's', schema: { type: 'object', properties: { a: {} } }, strict: true },
      },
    },
    fields: ['text', 'text.format.schema', 'text.format.name', 'text.format.schema.properties', 'text.verbosity'],
  },
  'a schema for a server that has none': {
    body: { instructions: 'x', text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' } } } },
    settings: withFlags({ jsonSchema: 'prompt' }),
  },
  'plain JSON and plain text': {
    body: { text: { format: { type: 'text' }, verbosity: 'high', odd: 1 } },
    settings: { profile: 'openai' },
  },
  ...Object.fromEntries(
    (['generic', 'openai', 'groq', 'anthropic', 'dashscope'] as const).flatMap((profile) =>
      ['none', 'minimal', 'max'].map((effort) => [
        `the effort ${effort} for ${profile}`,
        { body: { reasoning: { effort, summary: 'auto' } }, settings: { profile }, fields: ['reasoning'] },
      ]),
    ),
  ),
  'an effort that the echo may not have': { body: { reasoning: { effort: 'max' } }, settings: { strictEcho: true } },
  'an object without keys': {
    body: { reasoning: {}, text: {}, stream_options: {}, tools: [], include: [], metadata: {} },
  },
  'what is null': {
    body: {
      reasoning: null,
      text: null,
      tools: null,
      metadata: null,
      user: null,
      temperature: null,
      instructions: null,
      tool_choice: null,
    },
  },
  'a stream with its options': {
    body: { stream: true, stream_options: { include_obfuscation: true, include_usage: true, odd: 1 } },
  },
  'a stream that is none': { body: { stream: false } },
  'identities and keys': {
    body: {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      metadata: { a: 'b' },
      client_metadata: { c: 'd' },
    },
    fields: ['user', 'safety_identifier', 'prompt_cache_key', 'metadata', 'metadata.a', 'client_metadata'],
  },
  'the same for openai': {
    body: {
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      service_tier: 'flex',
    },
    settings: { profile: 'openai' },
  },
  'tiers that are nothing': { body: { service_tier: 'auto', truncation: 'disabled', store: false, background: false } },
  'fields of engines, and unknown ones': {
    body: {
      stop: ['a'],
      seed: 7,
      top_k: 4,
      logit_bias: { 5: 1 },
      odd: { a: [1, { b: 2 }] },
      multi_agent: { enabled: false },
    },
    fields: [
      'stop',
      'stop[0]',
      'logit_bias.5',
      'seed',
      'top_k',
      'logit_bias',
      'odd',
      'odd.a',
      'odd.a[1].b',
      'odd.a[5]',
      'multi_agent',
    ],
  },
  'unknown fields that are ignored': { body: { odd: 1, stop: 'a' }, settings: { unknownFields: 'ignore' } },
  'log probabilities and penalties': {
    body: {
      include: ['message.output_text.logprobs', 'file_search_call.results', 'unheard.of'],
      top_logprobs: 0,
      presence_penalty: 1,
    },
  },
  'what the server fixes': {
    body: { temperature: 0.1, top_p: 0.2 },
    settings: withFlags({ refusedFields: ['temperature', 'top_p'] }),
  },
  'no model, where there is a usual one': { body: { model: '' }, settings: { defaultModel: 'usual' } },
  'a profile with defaults': { body: { top_k: 3 }, settings: withFlags({ defaults: { top_k: 7, min_p: 0.5 } }) },
  'what is dropped from a request that warms a cache': {
    body: { generate: false, text: { verbosity: 'low' }, user: 'u' },
    settings: { profile: 'vllm' },
  },
  // Each mistake is told, none that only the repair of another one causes.
  ...Object.fromEntries(
    Object.entries<Readonly<Record<string, unknown>>>({
      'a name of a tool that is none, twice, and a choice of it': {
        tools: [{ ...f, name: 'no name' }, { ...f, name: 'no name' }, f, f],
        tool_choice: { type: 'function', name: 'no name' },
      },
      'tools that are no list, and a choice': { tools: 'f', tool_choice: 'required', input: 5 },
      'a tool that is none, and one whose schema is none': {
        tools: [5, { ...f, parameters: 'x' }, { ...g, strict: 'yes' }],
      },
      'a tool without a name, and a call of it': { tools: [{ type: 'function' }], input: [call, output] },
      'a list of allowed tools that is wrong': {
        tools: [f],
        tool_choice: { type: 'allowed_tools', mode: 'x', tools: [] },
        top_p: 3,
      },
      'calls without usable ids': {
        input: [
          { ...call, call_id: '' },
          { ...output, call_id: 7 },
          { ...customCall, call_id: undefined },
          { ...output, call_id: 'lost' },
        ],
        temperature: 'x',
      },
      'a call and an output with wrong contents': {
        input: [
          { ...call, name: 5 },
          { ...output, output: 5 },
          { ...call, call_id: 'c5' },
          user('x'),
          { ...output, call_id: 'c5', output: [{ type: 'input_text' }] },
        ],
      },
      'custom calls with wrong contents': {
        input: [
          { ...customCall, input: 5 },
          { ...customOutput, output: [5] },
        ],
        tools: [run],
      },
      'calls whose outputs are missing': { input: [call, { ...call, call_id: 'c5' }, { role: 'no', content: 'x' }] },
      'two calls of one id': { input: [call, call, output, { role: 'no', content: 'x' }] },
      'items and parts that are none': {
        input: [
          5,
          user([5, text('x'), { type: 'input_text', text: 7 }]),
          user(7),
          { role: 'user' },
          said([{ type: 'output_text' }]),
        ],
      },
      'what is included that is none': { include: ['a', 5, null], metadata: { a: 5, b: 'x'.repeat(600) } },
      'formats and efforts that are none': {
        text: { format: { type: 'json_schema', name: 'no name', schema: 5 }, verbosity: 'loud' },
        reasoning: { effort: 5, summary: 'x' },
      },
      'a model and an input that are none': { model: 7, input: [], instructions: 5, stream: 'yes' },
      'values out of their range': {
        temperature: 9,
        top_p: -1,
        max_output_tokens: 1,
        top_logprobs: 99,
        presence_penalty: 5,
      },
      'what is kept nowhere': {
        store: true,
        previous_response_id: 'r',
        conversation: 'c',
        prompt: { id: 'p' },
        background: true,
      },
    }).map(([name, body]) => [`mistakes: ${name}`, { body, fields: [] }]),
  ),
  'a mistake that a profile makes': {
    body: { input: [user([image()])], top_logprobs: 2 },
    settings: withFlags({ image: false, refusedFields: ['logprobs'] }),
    fields: [],
  },
  'a mistake that a variable makes': {
    body: { odd: 1, other: 2, input: [{ type: 'unheard_of' }] },
    settings: { unknownFields: 'reject', unknownItems: 'reject' },
    fields: [],
  },
};
