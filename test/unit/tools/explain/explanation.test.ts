import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { explainRequest } from '../../../../src/tools/explain/explain-request.ts';
import type { ExplainedField } from '../../../../src/tools/explain/explanation.ts';
import { readPath } from '../../../../src/tools/explain/fields.ts';
import type { ClientRequest, ExplainOptions } from '../../../../src/tools/explain/run-request.ts';
import { explainSetupOf } from '../../../support/config-of-settings.ts';
import { createdAt } from '../../../support/context.ts';
import type { SettingsOverrides } from '../../../support/settings.ts';

function requestOf(body: unknown, changes: Partial<ClientRequest> = {}): ClientRequest {
  const headers = new Map([['content-type', 'application/json']]);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method: 'POST', path: '/v1/responses', headers, body: Buffer.from(text), ...changes };
}

function explain(body: unknown, settings: SettingsOverrides = {}, options: Partial<ExplainOptions> = {}) {
  const setup = explainSetupOf(settings);
  return explainRequest({ setup, request: requestOf(body), now: createdAt, fields: null, linkBase: '', ...options });
}

const plain = { model: 'm', input: 'Hi' };

/** What became of one field of a plain request that also sets these. */
function fieldOf(field: string, body: object, settings: SettingsOverrides = {}): ExplainedField {
  const found = explain({ ...plain, ...body }, settings).fields.find((one) => one.field === field);
  if (found === undefined) throw new Error(`${field} is not explained`);
  return found;
}

const namesOf = ({ causes }: Pick<ExplainedField, 'causes'>) => causes.map(({ name }) => name);

describe('a field', () => {
  it('that has the same name and value is sent', () => {
    const field = fieldOf('temperature', { temperature: 0.3 });
    expect(field).toMatchObject({ fate: 'sent', becomes: [{ path: 'temperature', value: 0.3 }], causes: [] });
    expect(field.link).toBe('docs/mapping.md#row-temperature');
  });

  it('that has another name is renamed, because of a flag', () => {
    const field = fieldOf('max_output_tokens', { max_output_tokens: 99 });
    expect(field).toMatchObject({ fate: 'renamed', becomes: [{ path: 'max_tokens', value: 99 }] });
    expect(field.causes).toMatchObject([{ kind: 'flag', name: 'maxTokensField', value: 'max_tokens' }]);
  });

  const made = 'message.output_text.logprobs';
  it.each([
    ['stream', { stream: true }, 'generic', ['stream', 'stream_options', 'header accept']],
    ['max_output_tokens', { max_output_tokens: 99 }, 'openai', ['max_completion_tokens']],
    ['top_logprobs', { top_logprobs: 2 }, 'generic', ['logprobs', 'top_logprobs']],
    ['include[0]', { include: [made] }, 'generic', ['logprobs']],
    ['include[1]', { include: ['reasoning.encrypted_content', made], top_logprobs: 2 }, 'generic', ['logprobs']],
    ['text.format', { text: { format: { type: 'json_object' } } }, 'generic', ['response_format']],
    ['text.verbosity', { text: { verbosity: 'low' } }, 'openai', ['verbosity']],
    ['reasoning.effort', { reasoning: { effort: 'low' } }, 'generic', ['reasoning_effort']],
    ['reasoning.effort', { reasoning: { effort: 'low' } }, 'openrouter', ['reasoning.effort']],
    ['reasoning.effort', { reasoning: { effort: 'low' } }, 'deepseek', ['thinking', 'reasoning_effort']],
    ['reasoning.effort', { reasoning: { effort: 'low' } }, 'dashscope', ['enable_thinking']],
  ])('%s is followed to what it became: %j (%s)', (field, body, profile, names) => {
    expect(fieldOf(field, body, { profile }).becomes.map(({ path }) => path)).toEqual(names);
    expect(explain({ ...plain, ...body }, { profile }).added).toEqual([]);
  });

  const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3', odd: 1 } };
  const action = { type: 'exec', command: ['ls'], env: {} };
  const shellCall = { type: 'local_shell_call', call_id: 'a', status: 'completed', action };
  const shellOutput = { type: 'local_shell_call_output', call_id: 'a', output: 'x' };
  const f = { type: 'function', name: 'f' };
  const output = { type: 'function_call_output', call_id: 'a', output: 'x' };
  const user = { role: 'user', content: 'Hi' };
  const lowEffort = { type: 'configuration_update', reasoning: { effort: 'low' } };
  const customCall = { type: 'custom_tool_call', call_id: 'a', name: 'run', input: 'ls' };
  it.each<[field: string, fate: string, body: object, causes: readonly string[], settings?: SettingsOverrides]>([
    ['store', 'left_out', { store: null }, []],
    ['input[0]', 'rewritten', { input: [{ role: 'user', content: [audio] }] }, ['UNKNOWN_FIELDS']],
    [
      'input[0]',
      'rewritten',
      { input: [shellCall, shellOutput], tools: [{ type: 'local_shell' }] },
      ['geminiSignatures', 'callIdForm'],
    ],
    ['reasoning.effort', 'renamed', { reasoning: { effort: 'low' } }, ['reasoningEffort']],
    ['tool_choice', 'rewritten', { tools: [f], tool_choice: f }, ['toolChoice']],
    ['tools[0]', 'rewritten', { tools: [{ ...f, odd: 1 }], tool_choice: 'none' }, ['UNKNOWN_FIELDS']],
    ['input[0]', 'rewritten', { input: [output] }, ['ORPHAN_OUTPUTS'], { orphanOutputs: 'synthesize' }],
    [
      'input[0]',
      'sent',
      { input: [customCall, { ...output, type: 'custom_tool_call_output' }] },
      [],
      { profile: 'openai' },
    ],
    [
      'reasoning.effort',
      'in_response',
      { reasoning: { effort: 'high' }, input: [user, lowEffort] },
      ['reasoningEffort'],
    ],
    ['reasoning.context', 'in_response', { reasoning: { context: 'all_turns' } }, []],
    ['include[0]', 'in_response', { include: ['reasoning.encrypted_content'] }, []],
    ['service_tier', 'in_response', { service_tier: 'auto' }, ['serviceTiers']],
  ])('%s is %s for its own causes alone: %j', (field, fate, body, causes, settings) => {
    const found = fieldOf(field, body, settings);
    expect([found.fate, namesOf(found)]).toEqual([fate, causes]);
  });

  it('is told of each key that it lost, whatever other items lost as well', () => {
    const input = ['a', 'b'].map((content) => ({ role: 'user', content, odd: 1 }));
    const { fields, dropped } = explain({ model: 'm', input });
    expect(dropped.map(({ name }) => name)).toEqual(['input[].odd']);
    expect(fields.slice(1).map((one) => one.dropped)).toEqual([['input[].odd'], ['input[].odd']]);
  });

  it('is not blamed for what another one made be dropped', () => {
    const { fields } = explain({ ...plain, service_tier: 'flex', text: { verbosity: 'low' }, user: 'u' });
    expect(fields.map(({ field, dropped }) => [field, dropped])).toEqual([
      ['model', []],
      ['input', []],
      ['service_tier', ['service_tier']],
      ['text.verbosity', ['text.verbosity']],
      ['user', []],
    ]);
  });

  it('that has another value is rewritten, because of a flag and for a reason', () => {
    const field = fieldOf('reasoning.effort', { reasoning: { effort: 'xhigh' } }, { profile: 'groq' });
    expect(field.fate).toBe('rewritten');
    expect(field.becomes).toEqual([{ path: 'reasoning_effort', value: 'high' }]);
    expect(field.dropped).toEqual(['reasoning.effort.xhigh']);
    expect(namesOf(field)).toContain('effortRules');
    expect(field.causes.find(({ name }) => name === 'effortRules')?.reason).toEqual(expect.any(String));
  });

  it('is not told of rules that the profile does not have, unless it is lost without them', () => {
    for (const effort of ['minimal', 'high', 'xhigh']) {
      const field = fieldOf('reasoning.effort', { reasoning: { effort } });
      expect(field).toMatchObject({ fate: 'renamed', dropped: [] });
      expect(namesOf(field)).not.toContain('effortRules');
    }
    expect(namesOf(fieldOf('service_tier', { service_tier: 'flex' }))).toEqual(['serviceTiers']);
  });

  it('that the server has no field for is only in the Response', () => {
    const field = fieldOf('prompt_cache_key', { prompt_cache_key: 'k' });
    expect(field).toMatchObject({ fate: 'in_response', becomes: [], in_response: ['prompt_cache_key'] });
    expect(namesOf(field)).toContain('promptCacheKey');
  });

  it('that is dropped says by which flag', () => {
    const field = fieldOf('text.verbosity', { text: { verbosity: 'low' } });
    expect(field).toMatchObject({ fate: 'dropped', dropped: ['text.verbosity'], becomes: [] });
    expect(namesOf(field)).toEqual(['verbosity']);
    const { dropped } = explain({ ...plain, text: { verbosity: 'low' } });
    expect(dropped).toMatchObject([{ name: 'text.verbosity', causes: [{ kind: 'flag', name: 'verbosity' }] }]);
  });

  it('that is dropped says by which variable', () => {
    const body = {
      ...plain,
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: { type: 'object' } }],
    };
    const { fields, dropped } = explain(body);
    expect(dropped).toMatchObject([
      { name: 'tools[0].web_search', causes: [{ kind: 'variable', name: 'DROPPED_TOOLS' }] },
    ]);
    expect(fields.find(({ field }) => field === 'tools[0]')?.fate).toBe('dropped');
    expect(fields.find(({ field }) => field === 'tools[1]')).toMatchObject({ fate: 'sent', dropped: [] });
  });

  it('without any effect is left out', () => {
    expect(fieldOf('client_metadata', { client_metadata: { a: 'b' } })).toMatchObject({ fate: 'left_out', causes: [] });
  });

  it('in the path shows there', () => {
    const body = { ...plain, model: 'gpt-5' };
    const { fields, chat_request } = explain(body, { profile: { extends: 'generic', path: '/v1/{model}/chat' } });
    expect(chat_request?.path).toBe('/v1/gpt-5/chat');
    expect(fields.find(({ field }) => field === 'model')?.becomes).toContainEqual({
      path: 'path',
      value: '/v1/gpt-5/chat',
    });
  });

  it('that cannot be missing is told apart by another value', () => {
    const { fields } = explain(plain);
    expect(fields.map(({ field, fate }) => [field, fate])).toEqual([
      ['model', 'sent'],
      ['input', 'renamed'],
    ]);
  });

  it('deep inside can be asked for', () => {
    const image = { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' };
    const body = { ...plain, input: [{ role: 'user', content: [image] }] };
    const fields = ['input[0].content[0].detail', 'input[0].content[0].file_id'].map((path) => readPath(path) ?? []);
    const [detail, absent] = explain(body, {}, { fields }).fields;
    expect(detail).toMatchObject({ fate: 'rewritten', link: 'docs/mapping.md#row-input-content-detail' });
    expect(detail?.becomes).toMatchObject([{ value: 'high' }]);
    expect(detail?.dropped).toEqual(['input[].content[].detail.original']);
    expect(namesOf(detail ?? { causes: [] })).toContain('openaiOnly');
    expect(absent?.fate).toBe('absent');
  });

  it('that is a list or an object can be asked for as a whole', () => {
    const text = { format: { type: 'json_object' }, verbosity: 'low' };
    const input = ['Hi', 'Go'].map((content) => ({ role: 'user', content }));
    const body = { model: 'm', input, tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }], text };
    const { fields } = explain(body, {}, { fields: [['tools'], ['input'], ['text'], ['include'], ['input', 1]] });
    expect(fields.map(({ field, fate }) => [field, fate])).toEqual([
      ['tools[0]', 'rewritten'],
      ['tools[1]', 'dropped'],
      ['input[0]', 'sent'],
      ['input[1]', 'sent'],
      ['text.format', 'renamed'],
      ['text.verbosity', 'dropped'],
      ['include', 'absent'],
      ['input[1]', 'sent'],
    ]);
  });

  it.each([{ a: 1 }, 7, 'x'])('called __proto__ is one like any other: %j', (value) => {
    const { fields, added } = explain(`{"model":"m","input":"Hi","__proto__":${JSON.stringify(value)}}`);
    expect(fields.at(-1)).toMatchObject({ field: '__proto__', fate: 'sent', becomes: [{ path: '__proto__', value }] });
    expect(added).toEqual([]);
  });

  it('called as something every object has is absent where it is', () => {
    const [field] = explain(plain, {}, { fields: [['constructor'], ['input', 'length']] }).fields;
    expect(field).toMatchObject({ fate: 'absent' });
  });

  it('in a compressed body is sent without the header that says so', () => {
    const headers = new Map([
      ['content-type', 'application/json'],
      ['content-encoding', 'gzip'],
    ]);
    const request = requestOf(plain, { headers, body: gzipSync(JSON.stringify(plain)) });
    const { chat_request } = explain(plain, {}, { request });
    expect(chat_request?.headers_removed).toContain('content-encoding');
    expect(chat_request?.headers).not.toHaveProperty('content-encoding');
    expect(chat_request?.headers).toHaveProperty('content-type');
  });

  it('keeps a number that JavaScript has not', () => {
    const { chat_request } = explain('{"model":"m","input":"Hi","odd":12345678901234567890}');
    expect(JSON.stringify(chat_request?.body)).toContain('"odd":12345678901234567890');
  });
});

describe('an item', () => {
  const turn = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Go' },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c1', output: 'done' },
    { role: 'user', content: 'Go' },
  ];

  it('is followed to its message', () => {
    const { fields } = explain({ model: 'm', input: turn });
    const places = fields.slice(1).map(({ field, fate, becomes }) => [field, fate, becomes[0]?.path]);
    expect(places).toEqual([
      ['input[0]', 'rewritten', 'messages[0]'],
      ['input[1]', 'sent', 'messages[1]'],
      ['input[2]', 'sent', 'messages[2].tool_calls[0]'],
      ['input[3]', 'sent', 'messages[3]'],
      ['input[4]', 'sent', 'messages[4]'],
    ]);
  });

  it('whose role changes says so, and why', () => {
    const [, item] = explain({ model: 'm', input: turn }).fields;
    expect(item?.becomes).toEqual([{ path: 'messages[0]', value: { role: 'system', content: 'Be brief.' } }]);
    expect(namesOf(item ?? { causes: [] })).toEqual(['developerRole']);
  });

  it('that a rule for the model changes names the rule', () => {
    const body = {
      model: 'mistral-small',
      input: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    };
    const field = explain(body).fields.find((one) => one.field === 'input[1]');
    expect(field?.becomes).toEqual([{ path: 'messages[0]', value: { role: 'user', content: 'a\n\nb' } }]);
    const cause = field?.causes.find(({ name }) => name === 'alternateRoles');
    expect(cause).toMatchObject({ value: true, reason: expect.stringContaining('tral') });
  });
});

describe('what a guess would get wrong', () => {
  it('one plain message is sent', () => {
    const input = [{ role: 'user', content: 'Hi' }];
    expect(explain({ model: 'm', input }).fields.at(-1)).toMatchObject({
      fate: 'sent',
      becomes: [{ path: 'messages[0]', value: input[0] }],
      causes: [],
    });
  });

  it('a call with no arguments is sent', () => {
    const input = [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ];
    const { fields, added } = explain({ model: 'm', input });
    expect(fields.slice(1).map(({ fate }) => fate)).toEqual(['sent', 'sent']);
    expect(added).toEqual([]);
  });

  it('the prompt of a compaction is added by its file', () => {
    const body = { model: 'm', input: [{ role: 'user', content: 'Hi' }] };
    const { added } = explain(body, {}, { request: requestOf(body, { path: '/v1/responses/compact' }) });
    expect(added[0]).toMatchObject({ path: 'messages[1]', causes: [{ name: 'COMPACTION_PROMPT_FILE' }] });
    expect(added[0]?.causes).toHaveLength(1);
  });

  it('an item that asks for a summary is the prompt', () => {
    const input = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }];
    const { fields, added } = explain({ model: 'm', input });
    expect(fields.at(-1)).toMatchObject({ field: 'input[1]', fate: 'rewritten', becomes: [{ path: 'messages[1]' }] });
    expect(fields.at(-1)?.causes.map(({ name }) => name)).toEqual(['COMPACTION_PROMPT_FILE']);
    expect(added).toMatchObject([{ path: 'max_tokens' }]);
  });

  it('a flag that is off is not blamed for what another did', () => {
    const input = [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'developer', content: 'c' },
    ];
    const { fields } = explain({ model: 'm', input, instructions: 'd' });
    expect(fields.map(({ field, fate, causes }) => [field, fate, causes.map(({ name }) => name)])).toEqual([
      ['model', 'sent', []],
      ['input[0]', 'sent', []],
      ['input[1]', 'sent', []],
      ['input[2]', 'rewritten', ['systemMessages']],
      ['instructions', 'renamed', []],
    ]);
  });

  it('an item that is left out is dropped under the name that all of its kind have', () => {
    const summary = [{ type: 'summary_text', text: 'Hm.' }];
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', summary },
    ];
    const item = explain({ model: 'm', input }).fields.at(-1);
    expect(item).toMatchObject({ fate: 'dropped', dropped: ['input[].reasoning'] });
    expect(namesOf(item ?? { causes: [] })).toContain('reasoningReplay');
  });

  it('what is sent but for a key says which', () => {
    const input = [{ role: 'user', content: 'Hi', phase: 'final_answer' }];
    const item = explain({ model: 'm', input }).fields.at(-1);
    expect(item).toMatchObject({ fate: 'sent', dropped: ['input[].phase'], link: 'docs/mapping.md#row-input-phase' });
  });

  it('reasoning and text of one turn are told apart', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] },
    ];
    const { fields } = explain({ model: 'm', input }, { profile: 'vllm' });
    expect(fields.slice(2)).toMatchObject([
      { fate: 'rewritten', becomes: [{ path: 'messages[1].reasoning' }, { path: 'messages[1].reasoning_content' }] },
      { fate: 'sent', becomes: [{ path: 'messages[1].content', value: 'Yes' }] },
    ]);
  });

  it.each([
    ['effort', 'format'],
    ['format', 'effort'],
  ] as const)('of two items that set something each is followed to its own: %s, %s', (...order) => {
    const updates = {
      effort: { reasoning: { effort: 'high' } },
      format: { text: { format: { type: 'json_object' } } },
    };
    const places = { effort: 'reasoning_effort', format: 'response_format' };
    const input = [
      ...order.map((name) => ({ type: 'configuration_update', ...updates[name] })),
      { role: 'user', content: 'Hi' },
    ];
    const { fields, added } = explain({ model: 'm', input });
    expect(fields.slice(1, 3).map(({ becomes }) => becomes.map(({ path }) => path))).toEqual(
      order.map((name) => [places[name]]),
    );
    expect(added).toEqual([]);
  });

  it('an effort that an item sets is that item’s', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'configuration_update', reasoning: { effort: 'high' } },
    ];
    const { fields } = explain({ model: 'm', input, reasoning: { effort: 'low' } }, { profile: 'openai' });
    expect(fields.slice(2)).toMatchObject([
      { field: 'input[1]', fate: 'rewritten', becomes: [{ path: 'reasoning_effort', value: 'high' }] },
      { field: 'reasoning.effort', becomes: [] },
    ]);
  });

  it('an echo that is not what was asked for names STRICT_ECHO', () => {
    const field = fieldOf('reasoning.effort', { reasoning: { effort: 'max' } }, { strictEcho: true });
    expect(field.in_response).toEqual(['reasoning.effort']);
    const { causes } = fieldOf('tools[0]', { tools: [{ type: 'web_search' }] }, { strictEcho: true });
    expect(causes.map(({ name }) => name)).toEqual(['DROPPED_TOOLS']);
  });

  it('a hash that becomes a header is added, and names the secret', () => {
    const setup = explainSetupOf({});
    const hashed: typeof setup = {
      ...setup,
      config: { ...setup.config, SESSION_HEADER: 'x-session' },
      files: { ...setup.files, SESSION_HASH_KEY_FILE: 'sixteen or more.' },
    };
    const options = { now: createdAt, fields: null, linkBase: '' };
    const explain = (body: object) => explainRequest({ setup: hashed, request: requestOf(body), ...options });
    const { fields, added } = explain(plain);
    expect(added).toMatchObject([{ path: 'header x-session', value: expect.stringMatching(/^[\w-]{43}$/) }]);
    expect(added.map(namesOf)).toEqual([['SESSION_HEADER', 'SESSION_HASH_KEY_FILE']]);
    expect(fields.flatMap(({ becomes }) => becomes.map(({ path }) => path))).not.toContain('header x-session');
    expect(explain({ ...plain, prompt_cache_key: 'k' }).added).toEqual([]);
  });

  it('a key that becomes a header names SESSION_HEADER', () => {
    const setup = explainSetupOf({});
    const config = { ...setup.config, SESSION_HEADER: 'x-session' };
    const { fields } = explain({ ...plain, prompt_cache_key: 'k' }, {}, { setup: { ...setup, config } });
    expect(fields.at(-1)).toMatchObject({
      fate: 'renamed',
      becomes: [{ path: 'header x-session', value: 'k' }],
      causes: [{ name: 'SESSION_HEADER', value: 'x-session' }],
    });
  });
});

describe('what nothing asked for', () => {
  it('is named as added, with the flag that added it', () => {
    const profile = { extends: 'generic', defaults: { top_k: 7 }, needsUser: true };
    const input = ['developer', 'assistant'].map((role) => ({ role, content: 'Go.' }));
    const { added } = explain({ model: 'm', input }, { profile });
    expect(added).toMatchObject([
      { path: 'messages[1]', causes: [{ name: 'needsUser' }] },
      { path: 'top_k', value: 7, causes: [{ name: 'defaults' }] },
    ]);
  });
});

it('tools that stand in for those of earlier calls are added, whatever the request’s own list', () => {
  const input = [
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: '' },
  ];
  const { fields, added } = explain(
    { model: 'm', input, tools: [] },
    { profile: { extends: 'openai', stubTools: true } },
  );
  expect(fields.at(-1)).toMatchObject({ field: 'tools', fate: 'in_response', becomes: [] });
  expect(added).toMatchObject([
    { path: 'tools[0]', causes: [{ name: 'stubTools' }] },
    { path: 'tool_choice', value: 'none' },
  ]);
});

describe('a refusal', () => {
  it('names its field, row and flag', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const body = { model: 'm', input: [{ role: 'user', content: [audio] }] };
    const { outcome, refusals, chat_request } = explain(body, { profile: 'groq' });
    expect([outcome, chat_request]).toEqual(['refused', null]);
    expect(refusals).toMatchObject([{ status: 400, link: 'docs/mapping.md#row-part-input_audio' }]);
    expect(namesOf(refusals[0] ?? { causes: [] })).toEqual(['audio']);
  });

  it('by a setting names the setting', () => {
    const { refusals } = explain({ ...plain, odd: 1 }, { unknownFields: 'reject' });
    expect(refusals).toMatchObject([
      { error: { param: 'odd' }, causes: [{ name: 'UNKNOWN_FIELDS', value: 'reject' }] },
    ]);
  });

  it('is followed by those that would come next', () => {
    const body = { ...plain, previous_response_id: 'resp_1', background: true, conversation: 'c' };
    const params = explain(body).refusals.map(({ error }) => error.param);
    expect(params.toSorted()).toEqual(['background', 'conversation', 'previous_response_id']);
  });

  it.each([
    [
      'an output whose call is wrong',
      {
        input: [
          { type: 'function_call', call_id: 'c', name: 'f', arguments: 5 },
          { type: 'function_call_output', call_id: 'c', output: 'x' },
        ],
      },
      ['input[0].arguments'],
    ],
    [
      'an output whose call has no id',
      {
        input: [
          { type: 'function_call', call_id: 5, name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: 'x' },
        ],
      },
      ['input[0].call_id'],
    ],
    [
      'a choice of a tool that is wrong',
      {
        tools: [{ type: 'function', name: 'f', parameters: 7 }],
        tool_choice: { type: 'function', name: 'f' },
      },
      ['tools[0].parameters'],
    ],
    ['a choice from a list that is none', { tools: 5, tool_choice: 'required' }, ['tools']],
    [
      'a choice of several, one of them wrong',
      {
        tools: [{ type: 'function', name: 'f' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
      },
      ['tool_choice.tools[0]'],
    ],
    ['a field that must be there and is wrong', { model: 5, input: 7 }, ['model', 'input']],
    ['a list without its wrong element', { include: [5, 7] }, ['include[0]', 'include[1]']],
  ])('is not followed by what follows from it: %s', (_name, body, params) => {
    expect(explain({ ...plain, ...body }).refusals.map(({ error }) => error.param)).toEqual(params);
  });

  it('is followed by an output without a call, which is a mistake by itself', () => {
    const input = [
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { role: 'nobody', content: 'x' },
    ];
    const { refusals } = explain({ model: 'm', input });
    expect(refusals.map(({ error }) => error.param)).toEqual(['input[1].role', 'input[0].call_id']);
  });

  it('of many is not followed for ever', () => {
    const input = Array.from({ length: 60 }, () => ({ role: 'nobody', content: 'x' }));
    expect(explain({ model: 'm', input }).refusals).toHaveLength(20);
  });

  it.each(['', '{', '[]', 'null', '"x"'])('of a body that is not a request has a row too: %j', (body) => {
    const { outcome, refusals } = explain(body);
    expect(outcome).toBe('refused');
    expect(refusals[0]?.link).toMatch(/^docs\/mapping\.md#row-/);
  });
});

describe('other requests', () => {
  it('that pass are said to pass', () => {
    const request = requestOf(plain, { path: '/v1/embeddings' });
    expect(explain(plain, {}, { request })).toMatchObject({ outcome: 'passed', chat_request: null, fields: [] });
  });

  it('that warm a cache which is not there are answered, because of the profile', () => {
    const explanation = explain({ ...plain, generate: false });
    expect(explanation).toMatchObject({
      outcome: 'answered',
      chat_request: null,
      fields: [],
      answered: { link: 'docs/mapping.md#row-prewarm' },
      dropped: [{ name: 'generate', link: 'docs/mapping.md#row-prewarm' }],
    });
    expect(namesOf(explanation.answered ?? { causes: [] })).toEqual(['prefixCache']);
    expect(explanation.dropped.map(namesOf)).toEqual([['prefixCache']]);
  });

  it.each([
    ['generate', { generate: false }],
    ['prompt_cache_options', { prompt_cache_options: { prewarm: true } }],
  ])('that warm a cache by %s show what became of it', (name, fields) => {
    const { outcome, dropped, fields: explained, added } = explain({ ...plain, ...fields }, { profile: 'vllm' });
    expect([outcome, dropped, added]).toEqual(['sent', [], []]);
    const field = explained.find((one) => one.field === name);
    expect(field).toMatchObject({ fate: 'rewritten', becomes: [{ path: 'max_completion_tokens', value: 1 }] });
    expect(namesOf(field ?? { causes: [] })).toContain('prefixCache');

    const beforeAnyQuestion = { model: 'm', instructions: 'Be brief.', input: [], ...fields };
    const { fields: all, added: standIns } = explain(beforeAnyQuestion, { profile: 'vllm' });
    expect(all.find((one) => one.field === name)?.becomes.map(({ path }) => path)).toEqual([
      'max_completion_tokens',
      'messages[1]',
    ]);
    expect(standIns).toEqual([]);
  });

  it('that summarise warm nothing, and are limited by nothing that a warm-up says', () => {
    const body = { ...plain, prompt_cache_options: { prewarm: true } };
    const request = requestOf(body, { path: '/v1/responses/compact' });
    const { fields, added } = explain(body, { profile: 'vllm' }, { request });
    expect(fields.at(-1)).toMatchObject({ field: 'prompt_cache_options', fate: 'dropped', becomes: [] });
    expect(added.map(({ path }) => path)).toEqual(['messages[1]', 'max_completion_tokens']);
  });

  const catalog = { method: 'GET', path: '/v1/models?client_version=1', body: Buffer.alloc(0) };

  it('for the catalog are sent as they are, and their answer is made by these files', () => {
    const { outcome, chat_request, fields, added } = explain('', {}, { request: requestOf('', catalog) });
    expect([outcome, fields, added]).toEqual(['catalog', [], []]);
    expect(chat_request).toMatchObject({
      method: 'GET',
      path: catalog.path,
      headers_set: ['accept-encoding'],
      body: null,
    });
  });

  it('have a catalog that names what made it', () => {
    const causes = explain('', {}, { request: requestOf('', catalog) }).catalog?.causes ?? [];
    expect(namesOf({ causes })).toEqual(expect.arrayContaining(['MODEL_CATALOG_FILE']));
    expect(namesOf({ causes })).toContain('MODEL_CONTEXT_WINDOW');
    expect(namesOf({ causes })).not.toContain('STRICT_ECHO');
  });

  it('have their headers as the upstream gets them, without keys', () => {
    const headers = new Map([
      ['content-type', 'application/json; charset=utf-8'],
      ['authorization', 'Bearer abc'],
      ['x-team', 'blue'],
      ['if-none-match', '"1"'],
    ]);
    const { chat_request } = explain(plain, {}, { request: requestOf(plain, { headers }) });
    expect(chat_request?.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: '[redacted]',
      'x-team': 'blue',
    });
    expect(chat_request?.headers_removed).toEqual(['if-none-match']);
    expect(chat_request?.headers_set).toContain('accept');
  });

  it('of which one message is made have all of it, the first twenty of them', () => {
    const input = Array.from({ length: 22 }, (_item, index) => ({ role: 'developer', content: `Number ${index}` }));
    const { fields } = explain({ model: 'm', input: [...input, { role: 'user', content: 'Hi' }] });
    const made = fields.slice(1, -1).map(({ becomes }) => becomes);
    const merged = { role: 'system', content: input.map(({ content }) => content).join('\n\n') };
    const all = [{ path: 'messages[0]', value: merged }];
    const later = [{ path: 'messages[0]', value: '…' }];
    expect(made).toEqual([...Array(20).fill(all), later, later]);
  });

  it('that are too large are followed, without what decided', () => {
    const input = Array.from({ length: 30 }, (_item, index) => ({ role: 'user', content: `Number ${index}` }));
    const body = { model: 'm', input, metadata: { k: 'v' } };
    const { fields, notes, added } = explain(body, {}, { probedBytes: JSON.stringify(body).length * 11 });
    expect(fields).toHaveLength(32);
    expect(fields.at(-2)).toMatchObject({ field: 'input[29]', fate: 'sent' });
    expect(fields.at(-1)).toMatchObject({ field: 'metadata', fate: 'in_response', causes: [] });
    expect(added).toEqual([]);
    expect(notes).toEqual(['The request is too large to find out which flags and variables decided.']);
  });
});
