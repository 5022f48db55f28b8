import type { FlagName, ModelRule, Profile, ProfileFlags, ToolChoiceSupport } from './profile.ts';

const namedChoice: ToolChoiceSupport = { sent: true, required: 'required', named: true, allowed: false };
const fullChoice: ToolChoiceSupport = { ...namedChoice, allowed: true };
const modeChoice: ToolChoiceSupport = { ...namedChoice, named: false };
const mistralChoice: ToolChoiceSupport = { ...modeChoice, required: 'any' };
const dashscopeChoice: ToolChoiceSupport = { ...namedChoice, required: null };
const ignoredChoice: ToolChoiceSupport = { sent: false, required: null, named: false, allowed: false };

/** OpenAI's models that take no function tools while they reason. */
const toolsWithoutReasoning: readonly ModelRule[] = [
  {
    match: /gpt-5\.[4-6]/i,
    reason:
      'Over Chat they answer 400, “Function tools with reasoning_effort are not supported”, also where no effort is asked for, since they reason by default; with `none` they take tools (litellm#34569, pipecat#4043). The Responses API of the server itself has no such limit.',
    flags: { effortWithTools: 'none' },
  },
];

const threeEfforts = { minimal: 'low', xhigh: 'high', max: 'high' };
const gptOssEfforts = { ...threeEfforts, none: 'low' };

/** A built-in profile, with what a reader wants to know of it. */
export interface BuiltInProfile {
  readonly profile: Profile;
  /** The profile it is given as differences from; null for the first. */
  readonly base: BuiltInProfile | null;
  /** What kind of server it is for, in Markdown. */
  readonly about: string;
  /** Why each flag differs from the base: the source, or † where none was found. */
  readonly reasons: Partial<Readonly<Record<FlagName, string>>>;
}

/**
 * What chat templates refuse, by the model's name, on servers that run the template of the model. An empty text is sent where
 * an assistant message holds only calls: several templates ask for the length of the content, or look into it.
 */
export const templateRules: readonly ModelRule[] = [
  {
    match: /(?:mis|minis|magis|mix|pix|vox)tral|(?:dev|code|math)stral/i,
    reason:
      'Their templates raise an error for a system message that is not the first, for two users in a row (Codex begins with two), for null content, and, the older ones, for tool call ids of any other form (mistral-common `template_generator.py` and `validator.py`, llama.cpp `mistralai-Mistral-Small-3.1-24B-Instruct-2503.jinja`, vllm#6862, vllm#9019).',
    flags: {
      systemMessages: 'leading_only',
      alternateRoles: true,
      needsUser: true,
      nineCharacterIds: true,
      emptyAssistantContent: 'empty',
    },
  },
  {
    match: /gemma-?[23]/i,
    reason:
      'Their templates raise an error unless user and assistant take turns, and for null content; only vLLM’s `tool_chat_template_gemma3_pythonic.jinja` knows tools.',
    flags: {
      systemMessages: 'leading_only',
      alternateRoles: true,
      needsUser: true,
      emptyAssistantContent: 'empty',
    },
  },
  {
    match: /qwen-?3\.[5-9]|qwen-?[4-9]/i,
    reason: 'Their templates raise “No user query found in messages.”',
    flags: { needsUser: true },
  },
  {
    match: /llama-?v?3(?!\d)/i,
    reason:
      'Their templates raise “This model only supports single tool-calls at once!”, and put the tools into the first message after the system’s, which must be there (vLLM `tool_chat_template_llama3.1_json.jinja`).',
    flags: { singleCalls: true, needsUser: true, emptyAssistantContent: 'empty' },
  },
  {
    match: /gpt-oss/i,
    reason: 'Its template looks for Harmony’s markers in the content, which null has none of.',
    flags: { emptyAssistantContent: 'empty' },
  },
];

/** What nearly every server understands. */
const generic: BuiltInProfile = {
  base: null,
  about:
    'Any server. What nearly every Chat server understands: the default, and the profile every other one is given as differences from. `max_tokens`; developer messages become system messages, the leading ones merged into one and later ones said by the user, since many chat templates refuse a system message in any other place; text parts joined, with nothing between them; custom tools as functions; no reasoning given back; labels such as `metadata` and `prompt_cache_key` not sent.',
  reasons: {},
  profile: {
    name: 'generic',
    models: templateRules,
    path: '/v1/chat/completions',
    tokenizePath: null,
    maxTokensField: 'max_tokens',
    includeUsage: true,
    obfuscationOff: false,
    refusedFields: [],
    verbosity: false,
    user: false,
    safetyIdentifier: false,
    promptCacheKey: false,
    promptCacheOptions: false,
    serviceTiers: {},
    defaults: {},
    moderation: false,
    renames: {},
    jsonSchema: 'native',
    reasoningEffort: 'reasoning_effort',
    effortRules: [],
    effortWithTools: null,
    reasoningReplay: 'none',
    reasoningScope: 'all',
    reasoningBackfill: null,
    geminiSignatures: false,
    developerRole: 'system',
    systemMessages: 'leading_only',
    alternateRoles: false,
    needsUser: false,
    singleCalls: false,
    emptyAssistantContent: 'null',
    arrayContent: false,
    refusalField: false,
    file: 'none',
    originalDetail: false,
    image: true,
    audio: true,
    video: false,
    nineCharacterIds: false,
    toolMessageName: false,
    assistantAfterTool: false,
    assistantPrefix: false,
    cacheControl: false,
    phase: false,
    tools: true,
    strict: true,
    customTools: 'wrapped',
    parallelToolCalls: true,
    stubTools: false,
    toolChoice: namedChoice,
    thinkTags: 'auto',
    implicitThink: false,
    reasoningTokensExtra: false,
    dedupeTail: false,
  },
};

/** A profile as differences from another: each flag with its value and the reason for it, and its own rules for models. */
function row(
  name: string,
  base: BuiltInProfile,
  about: string,
  differences: { readonly [Name in FlagName]?: readonly [value: ProfileFlags[Name], reason: string] },
  models: readonly ModelRule[] = [],
): BuiltInProfile {
  const entries = Object.entries(differences) as [FlagName, readonly [unknown, string]][];
  const flags = Object.fromEntries(entries.map(([flag, [value]]) => [flag, value])) as Partial<ProfileFlags>;
  const reasons = Object.fromEntries(entries.map(([flag, [, reason]]) => [flag, reason]));
  return { profile: { ...base.profile, ...flags, name, models }, base, about, reasons };
}

const openai = row(
  'openai',
  generic,
  'OpenAI. api.openai.com, and proxies that only pass on to it. It has a Responses API of its own; this profile is for models and features behind its Chat endpoint. Over Chat, gpt-5.4 to 5.6 refuse function tools together with reasoning, so beside tools they are sent effort `none`, which is named; GPT-6 Astra and 6.1 Sol take no tools at all: use their Responses API.',
  {
    maxTokensField: ['max_completion_tokens', 'Reasoning models refuse `max_tokens`.'],
    obfuscationOff: [true, 'It pads its deltas by default; padding is added here, where the client asks for it.'],
    verbosity: [true, 'GPT-5 and later.'],
    user: [true, 'An older label for abuse detection.'],
    safetyIdentifier: [true, 'The newer one.'],
    promptCacheKey: [true, 'Routes to a cache.'],
    promptCacheOptions: [true, 'Retention, mode, and breakpoints in parts.'],
    serviceTiers: [
      { auto: 'auto', default: 'default', flex: 'flex', priority: 'priority', scale: 'scale', fast: 'fast' },
      'Its tiers.',
    ],
    moderation: [true, 'Chat has the field (openai-node 7.55).'],
    originalDetail: [true, 'Chat has the value (openai-node 7.55).'],
    developerRole: ['keep', 'Knows the role, which ranks above a user.'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    arrayContent: [true, 'Several text parts may stay parts.'],
    refusalField: [true, 'A refusal in the history has its own field.'],
    file: ['openai', 'PDF as data, or files uploaded with the same key.'],
    customTools: ['native', 'Free-form tools with grammars.'],
    thinkTags: ['off', 'Its answers hold no reasoning: a tag in them is text.'],
    toolChoice: [fullChoice, '`allowed_tools` too.'],
  },
  toolsWithoutReasoning,
);

const azure = row(
  'azure',
  openai,
  'Azure OpenAI. OpenAI’s API on the `v1` path. For the older path by deployment set `UPSTREAM_PATH` to `/openai/deployments/{model}/chat/completions`; the `api-version` in the query is kept. Streams begin with a chunk without choices and with an empty id, which is read past (mentat#429).',
  {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    obfuscationOff: [false, 'Refuses the option on some API versions. †'],
    promptCacheOptions: [false, 'Not in its API. †'],
    moderation: [false, 'Not in its API. †'],
    originalDetail: [false, 'Not in its API. †'],
    serviceTiers: [{ auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' }, 'Without `scale`.'],
  },
  toolsWithoutReasoning,
);

const vllm = row(
  'vllm',
  generic,
  'vLLM’s OpenAI-compatible server. Its own `/v1/responses` exists beside; behind this filter it is used through Chat. Recordings of vLLM 0.32 are replayed by the tests. It holds a function’s arguments to their schema only where the function is `strict`: otherwise even `tool_choice: "required"` can give arguments that are no object. With a reasoning parser, `response_format` and functions that are not strict at once are a 500. A call that its parser cannot read is text in a JSON answer and missing from a stream.',
  {
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    reasoningReplay: [
      'both',
      'Took `reasoning_content`, then `reasoning` (vllm#27752); both are sent, and the one it does not know is ignored. 0.32 reads either (observed).',
    ],
    customTools: [
      'wrapped_strict',
      '0.32 refuses custom tools, and gave a wrapping function that was not strict the bare string `"Oslo"` for arguments (observed).',
    ],
    video: [true, 'Takes `video_url` parts.'],
    tokenizePath: ['/tokenize', 'Takes a chat request there and applies the model’s template.'],
  },
  templateRules,
);

const sglang = row(
  'sglang',
  generic,
  'SGLang’s OpenAI-compatible server.',
  {
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    video: [true, 'Takes `video_url` parts.'],
  },
  templateRules,
);

const llamaCpp = row(
  'llama.cpp',
  generic,
  'The HTTP server of llama.cpp. With `response_format` and `tools` at once the schema wins and no tool can be called; `parallel_tool_calls: false` limits nothing. Both are the server’s own doing, observed, and not repaired here. It closes idle connections after five seconds: set the cluster’s `idle_timeout` below that.',
  {
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    toolChoice: [modeChoice, 'A named function is ignored (observed): it is offered alone and required instead.'],
  },
  templateRules,
);

const ollama = row(
  'ollama',
  generic,
  'Ollama. It cuts long prompts to its context window without a word, and answers 400 to efforts a model does not know: raise `num_ctx` on the server.',
  {
    effortRules: [
      [{ models: /./, efforts: { minimal: 'low', xhigh: 'high' } }],
      'Knows none, low, medium, high and, in newer versions, max.',
    ],
    reasoningReplay: ['reasoning', 'Its name for the field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [
      ignoredChoice,
      'Not read: `none` offers no tools, one function is offered alone, and `required` is named as left out.',
    ],
  },
  templateRules,
);

const lmstudio = row(
  'lmstudio',
  generic,
  'LM Studio’s local server.',
  {
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Null is a 400 (lmstudio-bug-tracker#261).'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    toolChoice: [modeChoice, 'The three words only. †'],
  },
  templateRules,
);

const tgi = row(
  'tgi',
  generic,
  'Hugging Face TGI and its router. Errors are 422, and are made into the API’s form.',
  {
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    strict: [false, 'Not in its API; schemas are kept by grammar anyway. That it is not sent is named.'],
  },
  templateRules,
);

const mistral = row(
  'mistral',
  generic,
  'Mistral. The strictest of all: unknown fields are 422, so what is not in its API is not sent.',
  {
    includeUsage: [
      false,
      '`stream_options` is a 422 on some versions (codecompanion#1112); usage comes in the last chunk by itself.',
    ],
    refusedFields: [['logprobs'], 'Gives none.'],
    promptCacheKey: [true, 'In its documentation.'],
    renames: [{ seed: 'random_seed' }, 'Its name for it.'],
    effortRules: [
      [{ models: /./, efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'All or nothing. †',
    ],
    reasoningReplay: [
      'mistral_thinking',
      'A `thinking` part in the content; `reasoning_content` is refused (crush#1590).',
    ],
    emptyAssistantContent: ['empty', 'Null is refused.'],
    file: ['mistral', 'Documents, by URL or as data.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    nineCharacterIds: [true, 'Others are refused (opencode#1680, vllm#9019).'],
    toolMessageName: [true, 'Its tool messages have one.'],
    needsUser: [true, 'A conversation of an assistant alone is refused (mistral-common `validator.py`).'],
    assistantAfterTool: [true, "`Unexpected role 'user' after role 'tool'`: a short assistant message is put between."],
    assistantPrefix: [
      true,
      'A last assistant message must be marked (mistral-common `validator.py`; the AI SDK does so).',
    ],
    toolChoice: [mistralChoice, '`any` for required; one function is offered alone.'],
  },
);

const groq = row(
  'groq',
  generic,
  'api.groq.com.',
  {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    refusedFields: [['logprobs'], 'Gives none. †'],
    serviceTiers: [
      { auto: 'auto', default: 'on_demand', flex: 'flex' },
      'Its word for the default (console.groq.com, Service Tiers).',
    ],
    effortRules: [
      [
        {
          models: /qwen/i,
          efforts: {
            minimal: 'default',
            low: 'default',
            medium: 'default',
            high: 'default',
            xhigh: 'default',
            max: 'default',
          },
        },
        { models: /./, efforts: gptOssEfforts },
      ],
      'Qwen knows `none` and `default` (pi#1745), gpt-oss low, medium and high.',
    ],
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    reasoningScope: ['tool_turns', 'Its models ignore what is older than the last question; it would cost tokens.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  },
  [
    {
      match: /qwen|qwq|deepseek/i,
      reason: 'Their reasoning comes inside the text by default. Other models refuse the field. †',
      flags: { defaults: { reasoning_format: 'parsed' } },
    },
  ],
);

const deepseek = row(
  'deepseek',
  generic,
  'api.deepseek.com. It pairs tool ids strictly, which every request here does.',
  {
    jsonSchema: ['json_object', 'Keeps to JSON, not to a schema: the schema is told in a system message.'],
    reasoningEffort: ['thinking_and_effort', 'A switch, `thinking: {"type"}`, with `reasoning_effort` beside it.'],
    effortRules: [
      [{ models: /./, efforts: { minimal: 'low', medium: 'high', xhigh: 'max' } }],
      'Knows low, high and max.',
    ],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    reasoningBackfill: [
      { text: '', on: 'all' },
      'Newer models refuse an assistant message without the field (kimi-cli#2141).',
    ],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  },
);

const openrouter = row(
  'openrouter',
  generic,
  'OpenRouter. Many providers behind one API; it drops what a provider does not take.',
  {
    path: ['/api/v1/chat/completions', 'Where its Chat API lives.'],
    verbosity: [true, 'Passed on to providers that have it.'],
    user: [true, 'Its label for abuse detection.'],
    promptCacheKey: [true, 'In its documentation.'],
    reasoningEffort: ['reasoning_object', 'An object, with `exclude: false` so that reasoning comes back.'],
    reasoningReplay: [
      'reasoning_details',
      'Word for word from the envelope, signatures and all; the text where there are none.',
    ],
    developerRole: ['keep', 'Knows the role, which ranks above a user.'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    arrayContent: [true, 'Several text parts may stay parts.'],
    file: ['openrouter', 'PDF as data or by URL.'],
    cacheControl: [true, 'Passed on to Anthropic, Gemini and Qwen models.'],
  },
);

const together = row(
  'together',
  generic,
  'api.together.xyz.',
  {
    effortRules: [[{ models: /gpt-oss/i, efforts: gptOssEfforts }], 'gpt-oss answers 400 to `none` and `max`.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  },
  templateRules,
);

const fireworks = row(
  'fireworks',
  generic,
  'api.fireworks.ai.',
  {
    path: ['/inference/v1/chat/completions', 'Where its Chat API lives.'],
    promptCacheKey: [true, 'In its documentation: requests of one key go to one replica.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    thinkTags: ['on', 'Some models put their reasoning into the text.'],
  },
  templateRules,
);

const gemini = row(
  'gemini',
  generic,
  'Gemini (OpenAI-compatible endpoint). Errors are arrays, and tool deltas have no index: both are read.',
  {
    path: ['/v1beta/openai/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    effortRules: [
      [
        { models: /gemini-(?:[3-9]|2\.5-pro)/i, efforts: { none: 'low', xhigh: 'high', max: 'high' } },
        { models: /./, efforts: { xhigh: 'high', max: 'high' } },
      ],
      'Gemini 3 and 2.5 Pro cannot be told not to think; no model knows more than high.',
    ],
    geminiSignatures: [
      true,
      'Gemini 3 answers 400 to a call without a thought signature (ai.google.dev, Thought signatures; LibreChat agents#37).',
    ],
  },
);

const anthropic = row(
  'anthropic',
  generic,
  'Anthropic (OpenAI-compatible endpoint). Made for trying models, says Anthropic: it ignores `strict`, `response_format`, `logprobs`, penalties, `seed`, `user` and `service_tier` in silence, and moves all system messages to the front. What would be ignored is refused or named here; only `seed`, which this API does not have, is passed on.',
  {
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Ignored there.'],
    jsonSchema: ['prompt', 'Ignored there: a strict schema is refused, a loose one told in a system message.'],
    reasoningEffort: ['none', 'Ignored there; thinking is turned on by its own `thinking` field, which is passed on.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    strict: [false, 'Ignored there: a function’s arguments may not fit its schema. That it is not sent is named.'],
    cacheControl: [true, 'Its own word for cache breakpoints. †'],
  },
);

const xai = row(
  'xai',
  generic,
  'api.x.ai.',
  {
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    effortRules: [[{ models: /./, efforts: threeEfforts }], 'Knows none, low, medium and high (big-AGI#1104).'],
    developerRole: ['keep', 'Knows the role, which ranks above a user. †'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    emptyAssistantContent: ['empty', 'Null is refused.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    reasoningTokensExtra: [true, 'Reasoning tokens are counted beside completion tokens; they are added.'],
    dedupeTail: [true, 'Older versions repeat the whole text in the last chunk.'],
  },
  [
    {
      match: /^(?!.*non-reasoning)(?!.*grok-[23](?!-mini))/i,
      reason: 'Reasoning models answer 400 to them; grok-2, grok-3 and the `non-reasoning` models take them.',
      flags: { refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'] },
    },
    {
      match: /grok-4.*reasoning/i,
      reason: 'They reason always, or never, as their names say, and refuse the field.',
      flags: { reasoningEffort: 'none' },
    },
  ],
);

const moonshot = row(
  'moonshot',
  generic,
  'Moonshot (Kimi). Parts are text, `image_url` and `video_url` only. Usage stands in the last choice, and is read there.',
  {
    promptCacheKey: [true, 'In its documentation.'],
    reasoningEffort: ['thinking_type', 'A switch, `thinking: {"type"}`.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    reasoningBackfill: [
      { text: ' ', on: 'calls' },
      'Refuses calls without reasoning (deer-flow#3043), and an empty one (crush#2696).',
    ],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    video: [true, 'Takes `video_url` parts.'],
    toolChoice: [modeChoice, 'The three words only. †'],
  },
  [
    {
      match: /kimi-k3/i,
      reason: 'K3 has levels, in `reasoning_effort`, and refuses `thinking: {"type": "disabled"}`.',
      flags: {
        reasoningEffort: 'reasoning_effort',
        effortRules: [{ models: /./, efforts: gptOssEfforts }],
      },
    },
  ],
);

const dashscope = row(
  'dashscope',
  generic,
  'Alibaba’s endpoint for Qwen, in its OpenAI-compatible mode. Tool content must be text, which it always is here.',
  {
    path: ['/compatible-mode/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['frequency_penalty'], 'Has the presence penalty only.'],
    reasoningEffort: ['enable_thinking', 'A switch of this name.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one.'],
    video: [true, 'Takes `video_url` parts.'],
    toolChoice: [dashscopeChoice, 'No word for required.'],
    cacheControl: [true, 'Explicit caches (help.aliyun.com, Context Cache).'],
  },
);

const zai = row(
  'zai',
  generic,
  'z.ai (GLM), and bigmodel.cn, whose API is the same. For its coding plan set `UPSTREAM_PATH` to `/api/coding/paas/v4/chat/completions`.',
  {
    path: ['/api/paas/v4/chat/completions', 'Where its Chat API lives (docs.z.ai, Chat Completion).'],
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Not in its API.'],
    defaults: [
      { thinking: { type: 'enabled', clear_thinking: false } },
      'By default earlier reasoning is cleared; GLM works better when it is kept (docs.z.ai, Preserved Thinking).',
    ],
    jsonSchema: ['json_object', 'Keeps to JSON, not to a schema: the schema is told in a system message.'],
    reasoningEffort: ['thinking_type', 'A switch, `thinking: {"type"}`.'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one. †'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    video: [true, 'Takes `video_url` parts.'],
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [ignoredChoice, 'Knows `auto` only, which is the default.'],
  },
);

const minimax = row('minimax', generic, 'MiniMax (api.minimax.io). Its models always think.', {
  maxTokensField: ['max_completion_tokens', 'The older name is deprecated there (as AgentScope found).'],
  refusedFields: [['presence_penalty', 'frequency_penalty'], 'Ignored there.'],
  defaults: [{ reasoning_split: true }, 'Without it the reasoning comes inside the text.'],
  jsonSchema: ['prompt', '`response_format` is not in its API (as AgentScope found).'],
  reasoningEffort: ['none', 'Not in its API.'],
  reasoningReplay: [
    'reasoning_details',
    'Its documentation demands the whole message back, `reasoning_details` included, between calls.',
  ],
  emptyAssistantContent: ['empty', 'Its templates or its validation want text, if only an empty one. †'],
  audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  strict: [false, 'Not in its API (as AgentScope found).'],
  parallelToolCalls: [false, 'Not in its API (as AgentScope found).'],
});

const cerebras = row(
  'cerebras',
  generic,
  'Cerebras. It refuses fields it does not support with a 400 (inference-docs.cerebras.ai, OpenAI Compatibility).',
  {
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'A 400.'],
    user: [true, 'In its documentation.'],
    serviceTiers: [{ auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' }, 'Its tiers. †'],
    effortRules: [[{ models: /gpt-oss/i, efforts: gptOssEfforts }], 'gpt-oss knows low, medium and high.'],
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field. †'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  },
);

const bedrock = row(
  'bedrock',
  generic,
  'Amazon Bedrock’s own Chat endpoint (`bedrock-runtime.REGION.amazonaws.com`), with a Bedrock API key. gpt-oss puts its reasoning into the text, as `<reasoning>…</reasoning>`.',
  {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: ['max_completion_tokens', 'The newer name of the limit.'],
    serviceTiers: [{ default: 'default', flex: 'flex', priority: 'priority' }, 'Its tiers. †'],
    effortRules: [[{ models: /gpt-oss/i, efforts: gptOssEfforts }], 'gpt-oss knows low, medium and high.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    stubTools: [
      true,
      'Calls in the history without tools are a 400, “toolConfig must be defined” (litellm#31400, opencode#10259).',
    ],
  },
);

const databricks = row(
  'databricks',
  generic,
  'Databricks (Foundation Model APIs). Claude’s reasoning comes as parts of the content.',
  {
    path: ['/serving-endpoints/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'Not in its API.'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    cacheControl: [true, 'Passed on to Claude models.'],
    parallelToolCalls: [false, 'Not in its API. †'],
    stubTools: [true, 'Its Claude models come from Bedrock and refuse calls in the history without tools. †'],
  },
);

const perplexity = row('perplexity', generic, 'Perplexity (Sonar). It searches the web itself, and takes no tools.', {
  path: ['/chat/completions', 'Where its Chat API lives: without `/v1`.'],
  includeUsage: [false, 'Usage comes by itself.'],
  refusedFields: [['logprobs', 'stop'], 'Not in its API.'],
  effortRules: [
    [{ models: /./, efforts: { none: 'minimal', xhigh: 'high', max: 'high' } }],
    'Knows minimal, low, medium and high; only sonar-deep-research reads them.',
  ],
  alternateRoles: [
    true,
    'A 400: “After the (optional) system message(s), user and assistant roles should be alternating.”',
  ],
  needsUser: [true, 'A conversation without a question is refused. †'],
  emptyAssistantContent: ['empty', 'Null is refused. †'],
  audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
  tools: [false, 'Not in its API.'],
  strict: [false, 'Not in its API.'],
});

const cohere = row(
  'cohere',
  generic,
  'Cohere’s compatibility API. What it does not support is in its documentation (docs.cohere.com, Compatibility API).',
  {
    path: ['/compatibility/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['logprobs'], '`top_logprobs` is not supported.'],
    effortRules: [
      [{ models: /./, efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'Knows none and high: its thinking is on or off.',
    ],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    parallelToolCalls: [false, 'Not supported.'],
    toolChoice: [modeChoice, 'A named function is not supported: it is offered alone and required.'],
  },
);

const nim = row(
  'nim',
  generic,
  'NVIDIA NIM, as a container and at integrate.api.nvidia.com. Most containers run vLLM, and the template of the model.',
  {
    reasoningReplay: ['reasoning_content', 'Its containers name the field so. †'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing. †'],
    parallelToolCalls: [false, 'Not in its API; unknown fields are a 422 there. †'],
    strict: [false, 'Not in its API. †'],
  },
  templateRules,
);

const huggingface = row(
  'huggingface',
  generic,
  'Hugging Face’s router (router.huggingface.co), to many providers. A model’s name may end in a provider, `:fireworks-ai`, or a policy, `:fastest`.',
  {
    emptyAssistantContent: ['empty', 'Its types have text or parts, and no null (huggingface.js `chat-completion`).'],
    audio: [false, 'Its parts are text and images (huggingface.js `chat-completion`).'],
  },
  [
    ...templateRules,
    {
      match: /qwen3-coder/i,
      reason:
        'A 500, “strict=True is not supported for Qwen Coder model.” (pydantic-ai#3062); other models’ providers want it (inspect_ai#3043).',
      flags: { strict: false },
    },
  ],
);

const vertex = row(
  'vertex',
  gemini,
  'Vertex AI (OpenAI-compatible endpoint). Its path names your project and location: set `UPSTREAM_PATH` to `/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi/chat/completions`. Models are named `google/gemini-…`; the access token must be renewed each hour.',
  {
    path: ['/v1/projects/-/locations/global/endpoints/openapi/chat/completions', 'A pattern, to be replaced.'],
  },
);

const llamaCppPython = row(
  'llama-cpp-python',
  generic,
  'The server of llama-cpp-python, as observed in 0.3.36 with `chatml-function-calling`. With logprobs its streams lose characters that are split over tokens, and a prompt that is too long is, in a stream, a 200 without a body.',
  {
    includeUsage: [false, 'Its streams have no usage (observed).'],
    jsonSchema: ['json_object', 'Has no `json_schema` (observed): the schema is told in a system message.'],
    emptyAssistantContent: ['empty', 'Null beside tool calls is a 500 (observed).'],
    audio: [false, 'Its messages have no sound; leaving it out would make the model answer about nothing.'],
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [dashscopeChoice, '`required` is a 200 without a body, or a 500 (observed).'],
  },
  templateRules,
);

/** Every built-in profile, in the order of the documentation. */
export const builtInProfiles: readonly BuiltInProfile[] = [
  generic,
  openai,
  azure,
  vllm,
  sglang,
  llamaCpp,
  ollama,
  lmstudio,
  tgi,
  mistral,
  groq,
  deepseek,
  openrouter,
  together,
  fireworks,
  gemini,
  anthropic,
  xai,
  moonshot,
  dashscope,
  zai,
  minimax,
  cerebras,
  bedrock,
  databricks,
  perplexity,
  cohere,
  nim,
  huggingface,
  vertex,
  llamaCppPython,
];

const byName = new Map(builtInProfiles.map(({ profile }) => [profile.name, profile]));

/** Every built-in profile's name, in the order of the table. */
export const profileNames: readonly string[] = [...byName.keys()];

/** The built-in profile of that name, or undefined. */
export function profileOf(name: string): Profile | undefined {
  return byName.get(name);
}
