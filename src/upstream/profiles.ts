/**
 * The differences between Chat Completions servers, as data: one row each. A row says what the *server* accepts and
 * sends; the code that reads a flag says what is done about it. Reasons and sources: `docs/upstreams.md`.
 */
export interface Profile {
  readonly name: string;
  /** Path that replaces `/v1/responses` (a prefix before `/v1` is kept); `{model}` is filled in. */
  readonly path: string;

  // What is sent: fields
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** `stream_options.include_usage` is understood. */
  readonly includeUsage: boolean;
  /** `stream_options.include_obfuscation: false` is understood (and wanted: padding is ours to add). */
  readonly obfuscationOff: boolean;
  /** Chat fields the server refuses or does not know; a request that needs one is refused here. */
  readonly refusedFields: readonly RefusableField[];
  readonly verbosity: boolean;
  readonly user: boolean;
  readonly safetyIdentifier: boolean;
  readonly promptCacheKey: boolean;
  /** `prompt_cache_retention`, `prompt_cache_options` and breakpoints in content parts. */
  readonly promptCacheOptions: boolean;
  /** Tiers the server knows, to the word it has for them. */
  readonly serviceTiers: Readonly<Record<string, string>>;
  /** Fields under another name upstream: `seed` → `random_seed`. */
  readonly renames: Readonly<Record<string, string>>;
  readonly jsonSchema: 'native' | 'json_object' | 'prompt';

  // What is sent: reasoning
  /** Field that takes the effort. */
  readonly reasoningEffort: 'reasoning_effort' | 'reasoning_object' | 'thinking_type' | 'enable_thinking' | 'none';
  /** Efforts a model refuses, and what it is sent instead; the first rule that matches the model counts. */
  readonly effortRules: readonly EffortRule[];
  /** How earlier reasoning is given back. */
  readonly reasoningReplay:
    | 'none'
    | 'reasoning_content'
    | 'reasoning'
    | 'both'
    | 'reasoning_details'
    | 'mistral_thinking';
  /** Which assistant messages get theirs back: every one, or those after the last user message. */
  readonly reasoningScope: 'all' | 'tool_turns';
  /** What stands in for missing reasoning where the server demands the field, and on which assistant messages. */
  readonly reasoningBackfill: { readonly text: string; readonly on: 'all' | 'calls' } | null;
  /** Tool calls carry a thought signature in `extra_content`, and must give it back. */
  readonly geminiSignatures: boolean;

  // What is sent: messages
  readonly developerRole: 'keep' | 'system';
  /** Where system messages may stand: as they came; the leading ones as one; or only leading, as one. */
  readonly systemMessages: 'anywhere' | 'merge_leading' | 'leading_only';
  /** `content` of an assistant message that holds only tool calls. */
  readonly emptyAssistantContent: 'null' | 'empty';
  /** Several text parts may stay an array; otherwise they are joined with a line feed. */
  readonly arrayContent: boolean;
  /** Assistant messages have a `refusal` field. */
  readonly refusalField: boolean;
  /** The shape of file parts; `none` takes only text files, as text. */
  readonly file: 'openai' | 'mistral' | 'openrouter' | 'none';
  readonly audio: boolean;
  readonly video: boolean;
  /** Tool call ids must be nine letters or digits. */
  readonly nineCharacterIds: boolean;
  /** Tool messages repeat the function's name. */
  readonly toolMessageName: boolean;
  /** After a tool message only an assistant or another tool may speak. */
  readonly assistantAfterTool: boolean;
  /** A last assistant message is a prefix to continue only when marked `prefix: true`. */
  readonly assistantPrefix: boolean;

  // What is sent: tools
  /** `strict` of functions and of JSON schemas is understood. */
  readonly strict: boolean;
  readonly customTools: 'native' | 'wrapped';
  readonly parallelToolCalls: boolean;
  readonly toolChoice: ToolChoiceSupport;

  // What comes back
  /** Reasoning arrives as `<think>…</think>` inside the text. */
  readonly thinkTags: boolean;
  /** The text begins inside the reasoning, without an opening tag. */
  readonly implicitThink: boolean;
  /** Reasoning tokens are not part of `completion_tokens`. */
  readonly reasoningTokensExtra: boolean;
  /** The last chunk may repeat the whole text. */
  readonly dedupeTail: boolean;
}

export type RefusableField = 'presence_penalty' | 'frequency_penalty' | 'logprobs' | 'stop';

export interface EffortRule {
  readonly models: RegExp;
  readonly efforts: Readonly<Record<string, string>>;
}

/** `tool_choice` as the server reads it. What it cannot say is said by offering fewer tools. */
export interface ToolChoiceSupport {
  /** False: the server ignores the field, so it is not sent. */
  readonly sent: boolean;
  /** Its word for “call some tool”; null when it has none. */
  readonly required: 'required' | 'any' | null;
  /** One function by name. */
  readonly named: boolean;
  /** `allowed_tools`. */
  readonly allowed: boolean;
}

const namedChoice: ToolChoiceSupport = { sent: true, required: 'required', named: true, allowed: false };
const fullChoice: ToolChoiceSupport = { ...namedChoice, allowed: true };
const modeChoice: ToolChoiceSupport = { ...namedChoice, named: false };
const mistralChoice: ToolChoiceSupport = { ...modeChoice, required: 'any' };
const dashscopeChoice: ToolChoiceSupport = { ...namedChoice, required: null };
const ignoredChoice: ToolChoiceSupport = { sent: false, required: null, named: false, allowed: false };

const threeEfforts = { minimal: 'low', xhigh: 'high', max: 'high' };
const gptOssEfforts = { ...threeEfforts, none: 'low' };

/** What nearly every server understands. All other rows are said as differences from it. */
const generic: Profile = {
  name: 'generic',
  path: '/v1/chat/completions',
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
  renames: {},
  jsonSchema: 'native',
  reasoningEffort: 'reasoning_effort',
  effortRules: [],
  reasoningReplay: 'none',
  reasoningScope: 'all',
  reasoningBackfill: null,
  geminiSignatures: false,
  developerRole: 'system',
  systemMessages: 'merge_leading',
  emptyAssistantContent: 'null',
  arrayContent: false,
  refusalField: false,
  file: 'none',
  audio: true,
  video: false,
  nineCharacterIds: false,
  toolMessageName: false,
  assistantAfterTool: false,
  assistantPrefix: false,
  strict: true,
  customTools: 'wrapped',
  parallelToolCalls: true,
  toolChoice: namedChoice,
  thinkTags: false,
  implicitThink: false,
  reasoningTokensExtra: false,
  dedupeTail: false,
};

const openai: Profile = {
  ...generic,
  name: 'openai',
  maxTokensField: 'max_completion_tokens',
  obfuscationOff: true,
  verbosity: true,
  user: true,
  safetyIdentifier: true,
  promptCacheKey: true,
  promptCacheOptions: true,
  serviceTiers: { auto: 'auto', default: 'default', flex: 'flex', priority: 'priority', scale: 'scale' },
  developerRole: 'keep',
  systemMessages: 'anywhere',
  arrayContent: true,
  refusalField: true,
  file: 'openai',
  customTools: 'native',
  toolChoice: fullChoice,
};

const azure: Profile = {
  ...openai,
  name: 'azure',
  path: '/openai/v1/chat/completions',
  obfuscationOff: false,
  promptCacheOptions: false,
  serviceTiers: { auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' },
};

const vllm: Profile = {
  ...generic,
  name: 'vllm',
  maxTokensField: 'max_completion_tokens',
  reasoningReplay: 'both',
  systemMessages: 'leading_only',
  video: true,
};

const sglang: Profile = {
  ...generic,
  name: 'sglang',
  maxTokensField: 'max_completion_tokens',
  reasoningReplay: 'reasoning_content',
  systemMessages: 'leading_only',
  video: true,
};

const llamaCpp: Profile = {
  ...generic,
  name: 'llama.cpp',
  reasoningReplay: 'reasoning_content',
  systemMessages: 'leading_only',
  emptyAssistantContent: 'empty',
  toolChoice: modeChoice,
};

const ollama: Profile = {
  ...generic,
  name: 'ollama',
  effortRules: [{ models: /./, efforts: threeEfforts }],
  reasoningReplay: 'reasoning',
  emptyAssistantContent: 'empty',
  audio: false,
  parallelToolCalls: false,
  toolChoice: ignoredChoice,
};

const lmstudio: Profile = {
  ...generic,
  name: 'lmstudio',
  reasoningReplay: 'reasoning',
  systemMessages: 'leading_only',
  emptyAssistantContent: 'empty',
  audio: false,
  toolChoice: modeChoice,
};

const tgi: Profile = {
  ...generic,
  name: 'tgi',
  systemMessages: 'leading_only',
  emptyAssistantContent: 'empty',
  audio: false,
  strict: false,
};

const mistral: Profile = {
  ...generic,
  name: 'mistral',
  includeUsage: false,
  refusedFields: ['logprobs'],
  renames: { seed: 'random_seed' },
  effortRules: [{ models: /./, efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
  reasoningReplay: 'mistral_thinking',
  emptyAssistantContent: 'empty',
  file: 'mistral',
  audio: false,
  nineCharacterIds: true,
  toolMessageName: true,
  assistantAfterTool: true,
  assistantPrefix: true,
  toolChoice: mistralChoice,
};

const groq: Profile = {
  ...generic,
  name: 'groq',
  path: '/openai/v1/chat/completions',
  maxTokensField: 'max_completion_tokens',
  refusedFields: ['logprobs'],
  serviceTiers: { auto: 'auto', default: 'on_demand', flex: 'flex' },
  effortRules: [
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
  reasoningReplay: 'reasoning',
  reasoningScope: 'tool_turns',
  audio: false,
};

const deepseek: Profile = {
  ...generic,
  name: 'deepseek',
  jsonSchema: 'json_object',
  reasoningEffort: 'thinking_type',
  reasoningReplay: 'reasoning_content',
  reasoningBackfill: { text: '', on: 'all' },
  emptyAssistantContent: 'empty',
  audio: false,
};

const openrouter: Profile = {
  ...generic,
  name: 'openrouter',
  path: '/api/v1/chat/completions',
  verbosity: true,
  user: true,
  reasoningEffort: 'reasoning_object',
  reasoningReplay: 'reasoning_details',
  developerRole: 'keep',
  systemMessages: 'anywhere',
  arrayContent: true,
  file: 'openrouter',
};

const together: Profile = {
  ...generic,
  name: 'together',
  effortRules: [{ models: /gpt-oss/i, efforts: gptOssEfforts }],
  reasoningReplay: 'reasoning_content',
  emptyAssistantContent: 'empty',
  audio: false,
};

const fireworks: Profile = {
  ...generic,
  name: 'fireworks',
  path: '/inference/v1/chat/completions',
  reasoningReplay: 'reasoning_content',
  emptyAssistantContent: 'empty',
  audio: false,
  thinkTags: true,
};

const gemini: Profile = {
  ...generic,
  name: 'gemini',
  path: '/v1beta/openai/chat/completions',
  maxTokensField: 'max_completion_tokens',
  geminiSignatures: true,
};

const anthropic: Profile = {
  ...generic,
  name: 'anthropic',
  refusedFields: ['presence_penalty', 'frequency_penalty', 'logprobs'],
  jsonSchema: 'prompt',
  reasoningEffort: 'none',
  systemMessages: 'leading_only',
  audio: false,
};

const xai: Profile = {
  ...generic,
  name: 'xai',
  maxTokensField: 'max_completion_tokens',
  refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'],
  effortRules: [{ models: /./, efforts: threeEfforts }],
  developerRole: 'keep',
  systemMessages: 'anywhere',
  emptyAssistantContent: 'empty',
  audio: false,
  reasoningTokensExtra: true,
  dedupeTail: true,
};

const moonshot: Profile = {
  ...generic,
  name: 'moonshot',
  reasoningEffort: 'thinking_type',
  reasoningReplay: 'reasoning_content',
  reasoningBackfill: { text: ' ', on: 'calls' },
  emptyAssistantContent: 'empty',
  audio: false,
  video: true,
  toolChoice: modeChoice,
};

const dashscope: Profile = {
  ...generic,
  name: 'dashscope',
  path: '/compatible-mode/v1/chat/completions',
  refusedFields: ['frequency_penalty'],
  reasoningEffort: 'enable_thinking',
  reasoningReplay: 'reasoning_content',
  emptyAssistantContent: 'empty',
  video: true,
  toolChoice: dashscopeChoice,
};

const rows: readonly Profile[] = [
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
];

const byName = new Map(rows.map((row) => [row.name, row]));

/** Every profile's name, in the order of the table. */
export const profileNames: readonly string[] = rows.map((row) => row.name);

/** The row of that name, or undefined. */
export function profileOf(name: string): Profile | undefined {
  return byName.get(name);
}
