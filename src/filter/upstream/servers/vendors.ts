import type { ModelRule } from '../profile.ts';
import {
  claudeRule,
  dashscopeChoice,
  fullChoice,
  ignoredChoice,
  mistralChoice,
  modeChoice,
  newerLimit,
  noNull,
  noSound,
  readsReasoningContent,
  server,
  tabledEfforts,
  threeEfforts,
  voxtralRule,
} from './generic.ts';

/** Vendors’ own APIs to their own models. */

/** OpenAI's models that take no function tools while they reason. */
const toolsWithoutReasoning: ModelRule = {
  match: /gpt-5\.[4-6]/i,
  reason:
    'A 400, “Function tools with reasoning_effort are not supported”, also where no effort is asked for; with `none` they take tools (litellm#34569, pipecat#4043).',
  flags: { effortWithTools: { effort: 'none', when: 'offered' } },
};

export const openai = server({
  name: 'openai',
  recognisedBy: { hosts: ['api.openai.com'] },
  about:
    'OpenAI, and proxies that only pass on to it. Over Chat, GPT-6 Astra and 6.1 Sol take no tools: use their Responses API (of 6.2 Astra and Sol it is not known †).',
  flags: {
    maxTokensField: ['max_completion_tokens', 'Reasoning models refuse `max_tokens`.'],
    verbosity: [true, 'GPT-5 and later.'],
    safetyIdentifier: [true, 'It replaces `user`.'],
    promptCacheKey: [true, 'Routes to a cache.'],
    serviceTiers: [
      { auto: 'auto', default: 'default', flex: 'flex', priority: 'priority', scale: 'scale', fast: 'fast' },
      'Its tiers.',
    ],
    openaiOnly: [true, 'As in openai-node 7.59. Padding is added here, where the client asks for it.'],
    effortRules: [
      [
        { models: /gpt-6/i, efforts: { none: 'low', minimal: 'low' } },
        { models: /gpt-5\.[1-9]/i, efforts: { minimal: 'low' } },
      ],
      'From 5.1 on there is no `minimal`, and no `none` in GPT-6.',
    ],
    developerRole: ['keep', 'Knows the role, which outranks the user’s.'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    arrayContent: [true, 'Several text parts may stay parts.'],
    refusalField: [true, 'Its own field for refusals.'],
    file: ['openai', 'PDF as data, or files uploaded with the same key.'],
    callIdForm: ['any_40', '“Expected a string with maximum length 40” (litellm#11392, azure-dev#7324).'],
    customTools: ['native', 'Free-form tools with grammars.'],
    thinkTags: ['off', 'A tag in its answers is text.'],
    toolChoice: [fullChoice, '`allowed_tools` too.'],
    toolSchemaRoot: [
      'plain_object',
      "“schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level” (litellm#38839); “object schema missing properties” (langchain-mcp-adapters#137).",
    ],
  },
  models: [toolsWithoutReasoning],
});

export const azure = server({
  name: 'azure',
  base: openai,
  recognisedBy: { hosts: ['*.openai.azure.com', '*.cognitiveservices.azure.com', '*.services.ai.azure.com'] },
  otelName: 'azure.ai.openai',
  about:
    'Azure OpenAI. For the older path by deployment set `UPSTREAM_PATH` to `/openai/deployments/{model}/chat/completions`; the `api-version` in the query is kept.',
  flags: {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    openaiOnly: [false, 'Some versions refuse `include_obfuscation`. †'],
    serviceTiers: [{ auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' }, 'Without `scale`.'],
  },
  models: [toolsWithoutReasoning],
});

export const mistral = server({
  name: 'mistral',
  recognisedBy: { hosts: ['api.mistral.ai'] },
  otelName: 'mistral_ai',
  about: 'Mistral. Unknown fields are 422.',
  flags: {
    user: [false, 'A 422 (LibreChat’s guide: `dropParams`).'],
    includeUsage: [false, '`stream_options` is a 422 on some versions (codecompanion#1112); usage comes anyway.'],
    refusedFields: [['logprobs'], 'It gives no log probabilities.'],
    promptCacheKey: [true, 'In its documentation.'],
    renames: [{ seed: 'random_seed' }, 'Its name for `seed`.'],
    effortRules: tabledEfforts(
      'mistral',
      [{ models: /./, efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'Other models: all or nothing.',
    ),
    reasoningReplay: [
      'mistral_thinking',
      'A `thinking` part in the content; `reasoning_content` is refused (crush#1590).',
    ],
    emptyAssistantContent: noNull,
    file: ['mistral', 'Documents, by URL or as data.'],
    audio: noSound,
    callIdForm: ['alphanumeric_9', 'Other ids are refused (opencode#1680, vllm#9019).'],
    toolMessageName: [true, 'Its tool messages have a name.'],
    needsUser: [true, 'From mistral-common `validator.py`.'],
    assistantAfterTool: [true, "“Unexpected role 'user' after role 'tool'”."],
    assistantPrefix: [true, 'From mistral-common `validator.py`; the AI SDK marks the message.'],
    toolChoice: [mistralChoice, '`any` for required.'],
    toolSchemaRoot: ['bare_object', '“failed to compile JSON schema”, for `$schema` and `$id` (litellm#13389).'],
  },
  models: [voxtralRule],
});

export const deepseek = server({
  name: 'deepseek',
  recognisedBy: { hosts: ['api.deepseek.com'] },
  about: 'api.deepseek.com.',
  flags: {
    jsonSchema: ['json_object', 'Guarantees JSON but not a schema: the schema is described in a system message.'],
    reasoningEffort: ['thinking_and_effort', 'A switch, `thinking: {"type"}`, with `reasoning_effort` beside it.'],
    effortRules: tabledEfforts(
      'deepseek',
      [{ models: /./, efforts: { minimal: 'low', medium: 'high', xhigh: 'max' } }],
      'They know low, high and max.',
    ),
    reasoningReplay: readsReasoningContent,
    reasoningBackfill: [{ text: '', on: 'all' }, 'Newer models refuse a message without reasoning (kimi-cli#2141).'],
    emptyAssistantContent: noNull,
    audio: noSound,
    toolSchemaRoot: [
      'object',
      "“schema must be a JSON Schema of 'type: \"object\"', got 'type: null'” (vercel/ai#7924).",
    ],
  },
});

const geminiEfforts = [
  { models: /gemini-(?:[3-9]|2\.5-pro)/i, efforts: { none: 'low', xhigh: 'high', max: 'high' } },
  { models: /./, efforts: { xhigh: 'high', max: 'high' } },
];
const aboutGeminiEfforts = 'Gemini 3 and 2.5 Pro always think; none knows more than high.';

const schemaOrTools: ModelRule = {
  match: /gemini-(?:1|2)(?:\.|-)/i,
  reason:
    "A 400, “Function calling with a response mime type: 'application/json' is unsupported” (vercel/ai#16540, symfony/ai#803); Gemini 3 takes both (TanStack/ai#605).",
  flags: { jsonSchema: 'native_without_tools' },
};

export const gemini = server({
  name: 'gemini',
  recognisedBy: { hosts: ['generativelanguage.googleapis.com'] },
  otelName: 'gcp.gemini',
  about: 'Gemini (OpenAI-compatible endpoint).',
  flags: {
    user: [false, 'Fields that it does not have are a 400, “Unknown name” (SkyrimNet-GamePlugin#77).'],
    path: ['/v1beta/openai/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: newerLimit,
    effortRules: tabledEfforts('gemini', geminiEfforts, aboutGeminiEfforts),
    geminiSignatures: [true, 'A 400 from Gemini 3 (ai.google.dev, Thought signatures; LibreChat agents#37).'],
    toolSchemaRoot: [
      'plain_object',
      '“functionDeclaration parameters schema should be of type OBJECT” (OmniRoute#3360); a list of types is a 400 (kilocode#5333).',
    ],
  },
  models: [schemaOrTools],
});

export const vertex = server({
  name: 'vertex',
  base: gemini,
  recognisedBy: { hosts: ['aiplatform.googleapis.com', '*-aiplatform.googleapis.com'] },
  otelName: 'gcp.vertex_ai',
  about:
    'Vertex AI (OpenAI-compatible endpoint). Its path names your project and location: set `UPSTREAM_PATH` to `/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi/chat/completions`. Models are named `google/gemini-…`; the access token lasts an hour.',
  flags: {
    path: ['/v1/projects/-/locations/global/endpoints/openapi/chat/completions', 'A placeholder, to be replaced.'],
    effortRules: tabledEfforts(
      'vertex',
      [{ models: /claude/i, efforts: { minimal: 'low' } }, ...geminiEfforts],
      `${aboutGeminiEfforts} Claude takes xhigh and max there.`,
    ),
  },
  models: [claudeRule, schemaOrTools],
});

export const anthropic = server({
  name: 'anthropic',
  recognisedBy: { hosts: ['api.anthropic.com'] },
  about: 'Anthropic (OpenAI-compatible endpoint). It ignores `seed`, and moves all system messages to the front.',
  flags: {
    user: [false, 'Ignored there.'],
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Ignored there.'],
    jsonSchema: ['prompt', 'Ignored there: a strict schema is refused.'],
    reasoningEffort: ['none', 'Ignored there; its own `thinking` field is passed on.'],
    audio: noSound,
    strict: [false, 'Ignored there.'],
    cacheControl: [true, 'Its cache breakpoints. †'],
    maxToolName: [128, '“String should have at most 128 characters” (claude-code#96152).'],
    toolSchemaRoot: [
      'plain_object',
      '“input_schema does not support oneOf, allOf, or anyOf at the top level” (claude-code#27337).',
    ],
  },
  models: [claudeRule],
});

export const xai = server({
  name: 'xai',
  recognisedBy: { hosts: ['api.x.ai'] },
  otelName: 'x_ai',
  about: 'api.x.ai.',
  flags: {
    maxTokensField: newerLimit,
    effortRules: tabledEfforts(
      'xai',
      [{ models: /./, efforts: threeEfforts }],
      'Older models know none, low, medium and high (big-AGI#1104).',
    ),
    developerRole: ['keep', 'Knows the role, which outranks the user’s. †'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    emptyAssistantContent: noNull,
    audio: noSound,
    reasoningTokensExtra: [true, 'Reasoning is counted beside completion tokens.'],
    dedupeTail: [true, 'Older versions repeat the text.'],
    toolSchemaRoot: ['plain_object', '“tool parameter root must be an object type” (opencodex#122, codex2api#580).'],
  },
  models: [
    {
      match: /./,
      reason: 'Reasoning models refuse these fields.',
      flags: { refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'] },
    },
    {
      match: /non-reasoning|grok-[23]/i,
      reason: 'They do not reason.',
      flags: { refusedFields: [] },
    },
    {
      match: /grok-3-mini/i,
      reason: 'It reasons.',
      flags: { refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'] },
    },
    {
      match: /grok-4.{0,64}reasoning/i,
      reason: 'These models refuse the field.',
      flags: { reasoningEffort: 'none' },
    },
  ],
});

export const moonshot = server({
  name: 'moonshot',
  recognisedBy: { hosts: ['api.moonshot.ai', 'api.moonshot.cn'] },
  otelName: 'moonshot_ai',
  about: 'Moonshot (Kimi).',
  flags: {
    promptCacheKey: [true, 'In its documentation.'],
    reasoningEffort: ['thinking_type', 'A switch, `thinking: {"type"}`.'],
    effortRules: tabledEfforts(
      'moonshot',
      [{ models: /kimi-k[3-9]/i, efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' } }],
      'From K3 on they know low, high and max; K2.7 Code always thinks.',
    ),
    reasoningReplay: readsReasoningContent,
    reasoningBackfill: [
      { text: ' ', on: 'calls_while_thinking' },
      'Calls without reasoning (deer-flow#3043), or with empty reasoning (crush#2696), are refused.',
    ],
    emptyAssistantContent: noNull,
    audio: noSound,
    video: [true, 'Takes `video_url` parts.'],
    toolChoice: [modeChoice, 'Only `auto`, `none` and `required`. †'],
    toolSchemaRoot: [
      'plain_object',
      '“tools.function.parameters.type is required and must be "object"” (MiqroForge-Desktop#1165), but no `type` beside `anyOf` (GitNexus#2703).',
    ],
  },
  models: [
    {
      match: /kimi-k2\.[56]/i,
      reason: '“tool_choice specified is incompatible with thinking enabled” (oh-my-pi#1077), which is the default.',
      flags: { effortWithTools: { effort: 'none', when: 'required' } },
    },
    {
      match: /kimi-k2\.6/i,
      reason: 'Else earlier reasoning is ignored (oh-my-pi#1839, kimi-code#1417).',
      flags: { reasoningEffort: 'thinking_keep' },
    },
    {
      match: /kimi-k(?:2\.[7-9]|[3-9])/i,
      reason:
        'They always think, so that no call can be required (big-AGI#1161), and keep earlier reasoning, even a stand-in for it (bifrost#3802).',
      flags: { toolChoice: ignoredChoice, reasoningBackfill: null },
    },
    {
      match: /kimi-k(?:2\.[5-9]|[3-9])/i,
      reason: 'All are fixed (big-AGI#1161, nanobot#4967).',
      flags: { refusedFields: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] },
    },
    {
      match: /kimi-k[3-9]/i,
      reason: 'They have levels, and refuse `thinking: {"type": "disabled"}`.',
      flags: { reasoningEffort: 'reasoning_effort' },
    },
  ],
});

export const dashscope = server({
  name: 'dashscope',
  recognisedBy: { hosts: ['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com'] },
  about:
    'Alibaba’s endpoint for Qwen, in its OpenAI-compatible mode. Some models of its coding plan need `cumulativeDeltas` (qwen-code#3896).',
  flags: {
    path: ['/compatible-mode/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['frequency_penalty'], 'Not in its API.'],
    reasoningEffort: ['enable_thinking', 'A switch of this name.'],
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: noNull,
    video: [true, 'Takes `video_url` parts.'],
    toolChoice: [dashscopeChoice, 'No word for required.'],
    cacheControl: [true, 'Explicit caches (help.aliyun.com, Context Cache).'],
  },
});

export const zai = server({
  name: 'zai',
  recognisedBy: { hosts: ['api.z.ai', 'open.bigmodel.cn'] },
  about:
    'z.ai (GLM), and bigmodel.cn. For its coding plan set `UPSTREAM_PATH` to `/api/coding/paas/v4/chat/completions`.',
  flags: {
    user: [false, 'Its API has `user_id`, of at least six characters (z-ai-sdk-python).'],
    path: ['/api/paas/v4/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Not in its API.'],
    defaults: [
      { thinking: { type: 'enabled', clear_thinking: false } },
      'GLM works better when earlier reasoning is kept (docs.z.ai, Preserved Thinking).',
    ],
    jsonSchema: ['json_object', 'Guarantees JSON but not a schema: the schema is described in a system message.'],
    reasoningEffort: ['thinking_type', 'A switch, `thinking: {"type"}`.'],
    effortRules: tabledEfforts(
      'zai',
      [
        {
          models: /glm-(?:5\.[3-9]|[6-9])/i,
          efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
        },
      ],
      'From GLM-5.3 on it always thinks.',
    ),
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: ['empty', 'It requires text, even if empty. †'],
    audio: noSound,
    video: [true, 'Takes `video_url` parts.'],
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [ignoredChoice, 'Knows `auto` only.'],
    toolStream: [true, 'From docs.z.ai, Tool Streaming Output.'],
  },
  models: [
    {
      match: /glm-(?:5\.[2-9]|[6-9])/i,
      reason: 'These models have levels beside the switch.',
      flags: { reasoningEffort: 'thinking_and_effort' },
    },
  ],
});

export const minimax = server({
  name: 'minimax',
  recognisedBy: {
    hosts: [
      'api.minimax.io',
      'api.minimax.chat',
      'api.minimax.com',
      'api.minimaxi.com',
      'api.minimaxi.chat',
      'api.minimaxi.io',
    ],
  },
  about: 'MiniMax (api.minimax.io). Its models always think. What its API lacks is known from AgentScope.',
  flags: {
    user: [false, 'Not in its API. †'],
    maxTokensField: newerLimit,
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'Ignored there.'],
    defaults: [{ reasoning_split: true }, 'Else reasoning comes inside the text.'],
    jsonSchema: ['prompt', 'Not in its API.'],
    reasoningEffort: ['none', 'Not in its API.'],
    reasoningReplay: ['reasoning_details', 'Its documentation demands these details back between calls.'],
    emptyAssistantContent: ['empty', 'It requires text, even if empty. †'],
    audio: noSound,
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
  },
});

export const perplexity = server({
  name: 'perplexity',
  recognisedBy: { hosts: ['api.perplexity.ai'] },
  about: 'Perplexity (Sonar). It searches the web itself.',
  flags: {
    path: ['/chat/completions', 'Where its Chat API lives.'],
    includeUsage: [false, 'Usage comes by itself.'],
    refusedFields: [['logprobs', 'stop'], 'Not in its API.'],
    effortRules: [
      [{ models: /./, efforts: { none: 'minimal', xhigh: 'high', max: 'high' } }],
      'Only sonar-deep-research reads the effort.',
    ],
    alternateRoles: [true, '“user and assistant roles should be alternating”.'],
    needsUser: [true, 'It refuses other conversations. †'],
    emptyAssistantContent: ['empty', 'It requires text, even if empty. †'],
    audio: noSound,
    tools: [false, 'Not in its API.'],
    strict: [false, 'Not in its API.'],
  },
});

export const cohere = server({
  name: 'cohere',
  recognisedBy: { hosts: ['api.cohere.ai', 'api.cohere.com'] },
  about: 'Cohere’s compatibility API (docs.cohere.com, Compatibility API).',
  flags: {
    user: [false, 'Not in its API (LobeChat and LibreChat leave it out).'],
    path: ['/compatibility/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['logprobs'], 'Not in its API.'],
    effortRules: [
      [{ models: /./, efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'Its thinking is on or off.',
    ],
    audio: noSound,
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [modeChoice, 'Only `auto`, `none` and `required`.'],
  },
});
