/**
 * What hosted servers and engines refuse, written by hand from the documentation or observation named with each. Nothing here knows
 * how requests are translated or what the profiles say.
 */

interface Schema {
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly items?: unknown;
  readonly anyOf?: unknown;
  readonly $defs?: unknown;
}

interface Body {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_call_id?: string;
    readonly reasoning_content?: string;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function?: { readonly name: string };
      readonly extra_content?: { readonly google?: { readonly thought_signature?: string } };
    }[];
  }[];
  readonly tools?: readonly {
    readonly type?: string;
    readonly function?: { readonly name: string; readonly strict?: boolean; readonly parameters?: Schema };
  }[];
  readonly tool_choice?: unknown;
  readonly reasoning_effort?: string;
  readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema?: Schema } };
  readonly [field: string]: unknown;
}

export interface ServerGuard {
  readonly profile: string;
  /** The requested model, if what is refused depends on it. */
  readonly model?: string;
  readonly source: string;
  /** Throws for a body that the server answers with an error. */
  check(body: Body): void;
}

export const serverGuards: readonly ServerGuard[] = [
  {
    profile: 'zai',
    source: 'docs.z.ai, Chat Completion: the values of tool_choice and response_format',
    check(body) {
      refuseFields(body, ['presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs', 'parallel_tool_calls']);
      if (body.tool_choice !== undefined && body.tool_choice !== 'auto') refuse('tool_choice only supports auto');
      if (body.response_format?.type === 'json_schema') refuse('response_format only supports text and json_object');
    },
  },
  {
    profile: 'minimax',
    source: 'platform.minimax.io, OpenAI-compatible API; java.agentscope.io, MiniMax: what is not in its API',
    check(body) {
      refuseFields(body, [
        'presence_penalty',
        'frequency_penalty',
        'response_format',
        'parallel_tool_calls',
        'max_tokens',
      ]);
      if (body.tools?.some((tool) => tool.function?.strict !== undefined))
        refuse('strict is not in the schema of tools');
      if (body['reasoning_split'] === undefined) refuse('the reasoning is inside the text');
      if (partTypes(body).includes('input_audio')) refuse('audio input is not supported');
    },
  },
  {
    profile: 'cerebras',
    source: 'inference-docs.cerebras.ai, OpenAI Compatibility: unsupported fields are a 400',
    check(body) {
      refuseFields(body, ['presence_penalty', 'frequency_penalty']);
    },
  },
  ...['bedrock', 'databricks'].map((profile) => ({
    profile,
    source: 'litellm#31400, opencode#10259',
    check({ messages, tools }: Body) {
      const called = messages.some(({ role, tool_calls }) => role === 'tool' || tool_calls !== undefined);
      if (called && tools === undefined)
        refuse('The toolConfig field must be defined when using toolUse and toolResult content blocks.');
    },
  })),
  {
    profile: 'perplexity',
    source: 'docs.perplexity.ai, Chat Completions, and its own message',
    check(body) {
      refuseFields(body, ['tools', 'tool_choice', 'logprobs', 'stop', 'stream_options']);
      const spoken = body.messages.filter(({ role }, index) => role !== 'system' || index > 0);
      const complaint = 'After the (optional) system message(s), user and assistant roles should be alternating.';
      if (spoken.some(({ role, tool_calls }) => role === 'tool' || tool_calls !== undefined)) return; // no tools there at all
      for (const [index, { role }] of spoken.entries()) if ((role === 'user') !== (index % 2 === 0)) refuse(complaint);
    },
  },
  {
    profile: 'cohere',
    source: 'docs.cohere.com, Compatibility API: unsupported parameters',
    check(body) {
      refuseFields(body, ['parallel_tool_calls', 'top_logprobs', 'service_tier', 'metadata', 'store', 'user']);
      if (typeof body.tool_choice === 'object') refuse('tool_choice must be a string');
      refuseEfforts(body, ['none', 'high']);
    },
  },
  {
    profile: 'nim',
    source: 'NIM for LLMs, API reference: unknown fields are a 422',
    check(body) {
      refuseFields(body, ['parallel_tool_calls', 'verbosity', 'prompt_cache_key', 'user', 'x_unknown_field']);
      if (body.tools?.some((tool) => tool.function?.strict !== undefined)) refuse('extra fields not permitted: strict');
    },
  },
  {
    profile: 'huggingface',
    model: 'Qwen/Qwen3-Coder-480B-A35B-Instruct:fastest',
    source:
      'huggingface/huggingface.js packages/tasks/src/tasks/chat-completion/inference.ts: content, parts, tools; pydantic-ai#3062: strict',
    check({ messages, tools = [], tool_choice: choice, response_format: format, ...body }) {
      if (messages.some(({ content }) => content === null)) refuse('content: text or parts');
      const type = partTypes({ messages }).find((one) => one !== 'text' && one !== 'image_url');
      if (type !== undefined) refuse(`parts are text and image_url, not ${type}`);
      if (tools.some((tool) => tool.type !== 'function')) refuse('only functions are supported as a tool');
      if (/qwen3-coder/i.test(String(body['model'])) && tools.some((tool) => tool.function?.strict !== undefined))
        refuse('500: strict=True is not supported for Qwen Coder model.');
      const isNamed = typeof choice === 'object' && choice !== null && 'function' in choice;
      if (choice !== undefined && !isNamed && !['auto', 'none', 'required'].includes(String(choice)))
        refuse('tool_choice is auto, none, required or a function');
      if (format !== undefined && !['text', 'json_schema', 'json_object'].includes(format.type))
        refuse('response_format');
      if (Number(body['top_logprobs'] ?? 0) > 0 && body['logprobs'] !== true) refuse('top_logprobs needs logprobs');
    },
  },
  {
    profile: 'openai',
    model: 'gpt-5.6-terra',
    source: 'litellm#34569: tools alone and with effort low are a 400, with none a 200',
    check({ model, tools, reasoning_effort: effort }) {
      if (/gpt-5\.[4-6]/.test(String(model)) && tools !== undefined && effort !== 'none')
        refuse(`Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`);
    },
  },
  {
    profile: 'vertex',
    source: 'ai.google.dev, Thought signatures and OpenAI compatibility',
    check(body) {
      const ofClaude = String(body['model']).includes('claude') ? ['xhigh', 'max'] : [];
      refuseEfforts(body, ['none', 'minimal', 'low', 'medium', 'high', ...ofClaude]);
      for (const { tool_calls = [] } of body.messages) {
        if (tool_calls.length > 0 && !tool_calls.some((call) => call.extra_content?.google?.thought_signature))
          refuse('Function call is missing a thought_signature');
      }
    },
  },
  {
    profile: 'together',
    model: 'openai/gpt-oss-120b',
    source: 'litellm#38263: gpt-oss with any other effort is a 400',
    check(body) {
      refuseEfforts(body, ['low', 'medium', 'high']);
    },
  },
  {
    profile: 'llama-cpp-python',
    source: 'observed: llama-cpp-python 0.3.36 with chatml-function-calling',
    check(body) {
      if (body.messages.some(({ content }) => content === null)) refuse('500: content is null');
      if (body.tool_choice === 'required') refuse('200 without a body');
      if (body.response_format?.type === 'json_schema') refuse('Input should be text or json_object');
    },
  },
];

const openAi = {
  source: 'litellm#38839, langchain-mcp-adapters#137',
  refused: ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'],
  hasProperties: true,
};
const claude = { source: 'claude-code#27337', refused: ['anyOf', 'oneOf', 'allOf'], hasProperties: false };

/** Servers that want an object’s schema for the parameters of a function: what may not stand at its root, and whether it must have properties. */
const schemaRules: readonly (Pick<ServerGuard, 'profile' | 'model' | 'source'> & {
  readonly refused: readonly string[];
  readonly hasProperties: boolean;
})[] = [
  { profile: 'openai', ...openAi },
  { profile: 'azure', ...openAi },
  { profile: 'anthropic', ...claude },
  { profile: 'openrouter', model: 'anthropic/claude-opus-5', ...claude },
  { profile: 'bedrock', model: 'anthropic.claude-opus-5', ...claude },
  { profile: 'xai', source: 'opencodex#122, codex2api#580', refused: ['anyOf', 'oneOf'], hasProperties: false },
  { profile: 'moonshot', source: 'MiqroForge-Desktop#1165, GitNexus#2703', refused: ['anyOf'], hasProperties: false },
  { profile: 'gemini', source: 'OmniRoute#3360, kilocode#5333', refused: [], hasProperties: false },
  { profile: 'deepseek', source: 'vercel/ai#7924', refused: [], hasProperties: false },
  {
    profile: 'ollama',
    source:
      'observed: api/types.go of v0.17.4 has one text as the type of a root, and no union there: it is not refused, but lost',
    refused: ['anyOf', 'oneOf', 'allOf'],
    hasProperties: false,
  },
];

/** What servers want of every schema, also within others. No profile has a flag for it: it is done for all of them. */
export const schemaGuards: readonly ServerGuard[] = [
  { profile: 'llama.cpp', source: 'observed: “schema must be an object”; mezmo/aura#358', check: refuseBooleans },
  {
    profile: 'ollama',
    source: 'observed: v0.17.4, “cannot unmarshal bool into … of type api.ToolProperty”',
    check: ({ tools }) => refuseBooleans({ messages: [], ...(tools && { tools }) }),
  },
  { profile: 'fireworks', source: 'openclaw-mcp-adapter#9: a 500 for the whole request', check: refuseBooleans },
];

/** Booleans where these servers read a schema. */
function refuseBooleans({ tools = [], response_format: format }: Body): void {
  const look = (schema: unknown, at: string): void => {
    if (typeof schema === 'boolean') refuse(`JSON schema error at ${at}: schema must be an object`);
    if (typeof schema !== 'object' || schema === null) return;
    const { properties, $defs, items, anyOf } = schema as Schema;
    for (const named of [properties, $defs])
      for (const [name, one] of Object.entries(named ?? {})) look(one, `${at}/${name}`);
    for (const one of [items, ...(Array.isArray(anyOf) ? anyOf : [])]) look(one, at);
  };
  for (const tool of tools) look(tool.function?.parameters, tool.function?.name ?? '#');
  look(format?.json_schema?.schema, '#');
}

/** What servers and models want of calls and tools, and no probe of `doctor` asks them. */
export const toolGuards: readonly ServerGuard[] = [
  ...['openai', 'azure'].map((profile) => ({
    profile,
    source: 'litellm#11392, azure-dev#7324',
    check({ messages }: Body) {
      for (const [index, { tool_calls = [], tool_call_id = '' }] of messages.entries()) {
        for (const id of [tool_call_id, ...tool_calls.map((call) => call.id)])
          if (id.length > 40)
            refuse(`Invalid 'messages[${index}].tool_calls[0].id': string too long. Expected maximum length 40`);
      }
    },
  })),
  ...['generic', 'openai', 'deepseek', 'gemini', 'dashscope'].map((profile) => ({
    profile,
    source:
      'LibreChat#7435 (OpenAI), ida-pro-mcp#129 (DeepSeek), oh-my-claudecode#235 (Gemini), Qwen3-VL#2069 (DashScope): names of more than 64 characters',
    check: namesUpTo64,
  })),
  ...['anthropic', 'openrouter', 'generic', 'bedrock', 'vertex', 'databricks'].map((profile) => ({
    profile,
    model: 'anthropic/claude-opus-5',
    source: 'bifrost#5097, opencode#1279',
    check({ messages }: Body) {
      const ids = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
      const outputs = messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
      for (const id of [...ids, ...outputs])
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(id)) refuse("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
      if (new Set(ids).size < ids.length) refuse('`tool_use` ids must be unique');
    },
  })),
  ...[
    { profile: 'mistral', source: 'LibreChat’s guide to Mistral: 422' },
    { profile: 'fireworks', source: 'LibreChat’s guide to Fireworks' },
    { profile: 'gemini', source: 'SkyrimNet-GamePlugin#77: 400, “Unknown name”' },
  ].map((named) => ({
    ...named,
    check: (body: Body) => refuseFields(body, ['user']),
  })),
  ...['vllm', 'sglang', 'generic', 'openrouter'].map((profile) => ({
    profile,
    model: 'moonshotai/Kimi-K2.7-Code',
    source: 'kimchi#1063, vllm#50782: not a refusal, but a turn that ends empty',
    check: (body: Body) => namesAndNumbers(body, 'functions.'),
  })),
  ...schemaRules.map(({ refused, hasProperties, ...named }) => ({
    ...named,
    check: (body: Body) => checkRoots(body, refused, hasProperties),
  })),
  ...['kimi-k2.6', 'kimi-k3'].map((model) => ({
    profile: 'moonshot',
    model,
    source: 'oh-my-pi#1077, big-AGI#1161, nanobot#4967, deer-flow#3043',
    check(body: Body) {
      const thinks = model === 'kimi-k3' || (body['thinking'] as { type?: string } | undefined)?.type !== 'disabled';
      const { tool_choice: choice } = body;
      if (thinks && (choice === 'required' || typeof choice === 'object'))
        refuse("tool_choice 'specified' is incompatible with thinking enabled");
      if (![undefined, 1].includes(body['temperature'] as number | undefined))
        refuse('invalid temperature: only 1 is allowed for this model');
      if (![undefined, 0.95].includes(body['top_p'] as number | undefined)) refuse('invalid top_p');
      const isBare = body.messages.some((message) => message.tool_calls !== undefined && !message.reasoning_content);
      if (model === 'kimi-k2.6' && thinks && isBare)
        refuse('thinking is enabled but reasoning_content is missing in assistant tool call message');
    },
  })),
  ...[
    ...['groq', 'vllm', 'sglang', 'llama.cpp', 'ollama', 'lmstudio', 'tgi'].map((profile) => ({ profile })),
    { profile: 'gemini', model: 'gemini-2.5-pro' },
    { profile: 'vertex', model: 'google/gemini-2.5-flash' },
  ].map((named) => ({
    ...named,
    source:
      'vercel/ai#16540, symfony/ai#803; of the engines vllm#39929, sglang#25789, ollama#8095, observed: no refusal, but no call',
    check({ tools, response_format: format }: Body) {
      if (tools !== undefined && format !== undefined)
        refuse('json mode cannot be combined with tool/function calling');
    },
  })),
  {
    profile: 'mlx-lm',
    source: 'mlx-lm#1007: not a refusal, but not read',
    check: (body) => refuseFields(body, ['response_format']),
  },
  {
    profile: 'snowflake',
    source: 'langchain-snowflake#132: ignored, so that an answer ends at 4,096 tokens',
    check: (body) => refuseFields(body, ['max_tokens']),
  },
  {
    profile: 'lmstudio',
    source: 'lmstudio-bug-tracker#189, ComfyUI-Lora-Manager#1033',
    check({ response_format: format }) {
      if (format !== undefined && format.type !== 'json_schema' && format.type !== 'text')
        refuse("'response_format.type' must be 'json_schema' or 'text'");
    },
  },
  {
    profile: 'groq',
    source: 'strix#1088',
    check({ tools = [] }) {
      for (const tool of tools)
        if (tool.function?.parameters?.required !== undefined && tool.function.parameters.properties === undefined)
          refuse("invalid JSON schema for tool: 'required' present but 'properties' is missing");
    },
  },
  {
    profile: 'mistral',
    source: 'litellm#13389 (names of a schema), witsy#164 (names of 64 characters)',
    check(body) {
      namesUpTo64(body);
      for (const { function: called } of body.tools ?? [])
        for (const name of ['$schema', '$id'])
          if (name in (called?.parameters ?? {})) refuse('Grammar error: at 3(11): failed to compile JSON schema');
    },
  },
  {
    profile: 'openrouter',
    model: 'moonshotai/kimi-k3',
    source: 'fireconnect#16: the form of its own ids',
    check: (body) => namesAndNumbers(body, ''),
  },
];

function checkRoots({ tools = [] }: Body, refused: readonly string[], hasProperties: boolean): void {
  for (const { function: called } of tools) {
    const { parameters } = called ?? {};
    if (parameters === undefined) continue;
    if (parameters.type == null || Array.isArray(parameters.type))
      refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: ${parameters.type}'`);
    if (parameters.type !== 'object') continue; // a client's mistake
    const keyword = refused.find((one) => one in parameters);
    if (keyword !== undefined) refuse(`schema must have type 'object' and not have '${keyword}' at the top level`);
    if (hasProperties && parameters.properties === undefined) refuse('object schema missing properties');
  }
}

function namesUpTo64({ messages, tools = [] }: Body): void {
  const names = messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function?.name));
  for (const name of [...names, ...tools.map((tool) => tool.function?.name)])
    if ((name ?? '').length > 64) refuse("Invalid 'function.name': string too long. Expected maximum length 64");
}

function namesAndNumbers({ messages }: Body, prefix: string): void {
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls);
  for (const { id, function: called } of calls) {
    const start = `${prefix}${called?.name}:`;
    if (!id.startsWith(start) || !/^\d+$/.test(id.slice(start.length))) refuse(`${id} names no function`);
  }
  if (new Set(calls.map(({ id }) => id)).size < calls.length) refuse('the id of two calls');
}

function refuse(message: string): never {
  throw new Error(message);
}

function refuseFields(body: Body, names: readonly string[]): void {
  for (const name of names) if (body[name] !== undefined) refuse(`${name} is not supported`);
}

function refuseEfforts({ reasoning_effort: effort }: Body, known: readonly string[]): void {
  if (effort !== undefined && !known.includes(effort)) refuse(`reasoning_effort ${effort} is not supported`);
}

function partTypes({ messages }: Pick<Body, 'messages'>): string[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.map(({ type }: { type: string }) => type) : [],
  );
}
