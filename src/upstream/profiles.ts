import type { Profile, ToolChoiceSupport } from './profile.ts';

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
  strict: false,
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
