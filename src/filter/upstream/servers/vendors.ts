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
  tabledEfforts,
  threeEfforts,
} from './common.ts';
import { server } from './generic.ts';

/** Vendors’ own APIs to their own models. */

/** OpenAI's models that take no function tools while they reason. */
const toolsWithoutReasoning: readonly ModelRule[] = [
  {
    match: /gpt-5\.[4-6]/i,
    reason:
      'Over Chat they answer 400, “Function tools with reasoning_effort are not supported”, also where no effort is asked for, since they reason by default; with `none` they take tools (litellm#34569, pipecat#4043). The Responses API of the server itself has no such limit.',
    flags: { effortWithTools: { effort: 'none', when: 'offered' } },
  },
];

export const openai = server({
  name: 'openai',
  recognisedBy: { hosts: ['api.openai.com'] },
  otelName: 'openai',
  about:
    'OpenAI. api.openai.com, and proxies that only pass on to it. Over Chat, GPT-6 Astra and 6.1 Sol take no tools at all: use their Responses API.',
  flags: {
    maxTokensField: ['max_completion_tokens', 'Reasoning models refuse `max_tokens`.'],
    verbosity: [true, 'GPT-5 and later.'],
    user: [true, 'An older label for abuse detection.'],
    safetyIdentifier: [true, 'The newer one.'],
    promptCacheKey: [true, 'Routes to a cache.'],
    serviceTiers: [
      { auto: 'auto', default: 'default', flex: 'flex', priority: 'priority', scale: 'scale', fast: 'fast' },
      'Its tiers.',
    ],
    openaiOnly: [
      true,
      'The fields and values of openai-node 7.55. It pads its deltas by default; padding is added here, where the client asks for it.',
    ],
    effortRules: [
      [
        { models: /gpt-6/i, efforts: { none: 'low', minimal: 'low' } },
        { models: /gpt-5\.[1-9]/i, efforts: { minimal: 'low' } },
      ],
      'GPT-6 knows low to max; from 5.1 on there is `none` in place of `minimal`.',
    ],
    developerRole: ['keep', 'Knows the role, which outranks the user’s.'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    arrayContent: [true, 'Several text parts may stay parts.'],
    refusalField: [true, 'A refusal in the history has its own field.'],
    file: ['openai', 'PDF as data, or files uploaded with the same key.'],
    callIdForm: [
      'any_40',
      '“string too long. Expected a string with maximum length 40”, for ids of other vendors’ gateways (litellm#11392, azure-dev#7324).',
    ],
    customTools: ['native', 'Free-form tools with grammars.'],
    thinkTags: ['off', 'Its answers hold no reasoning: a tag in them is text.'],
    toolChoice: [fullChoice, '`allowed_tools` too.'],
    toolSchemaRoot: [
      'plain_object',
      "“schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level” (litellm#38839); “object schema missing properties” (langchain-mcp-adapters#137).",
    ],
  },
  models: toolsWithoutReasoning,
});

export const azure = server({
  name: 'azure',
  base: openai,
  recognisedBy: { hosts: ['*.openai.azure.com', '*.cognitiveservices.azure.com', '*.services.ai.azure.com'] },
  otelName: 'azure.ai.openai',
  about:
    'Azure OpenAI. OpenAI’s API on the `v1` path. For the older path by deployment set `UPSTREAM_PATH` to `/openai/deployments/{model}/chat/completions`; the `api-version` in the query is kept. Streams begin with a chunk without choices and with an empty id, which is skipped (mentat#429).',
  flags: {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    openaiOnly: [false, 'Not in its API; some versions refuse `include_obfuscation`. †'],
    serviceTiers: [{ auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' }, 'Without `scale`.'],
  },
  models: toolsWithoutReasoning,
});

export const mistral = server({
  name: 'mistral',
  recognisedBy: { hosts: ['api.mistral.ai'] },
  otelName: 'mistral_ai',
  about: 'Mistral. The strictest of all: unknown fields are 422, so what is not in its API is not sent.',
  flags: {
    includeUsage: [
      false,
      '`stream_options` is a 422 on some versions (codecompanion#1112); usage is in the last chunk anyway.',
    ],
    refusedFields: [['logprobs'], 'Gives none.'],
    promptCacheKey: [true, 'In its documentation.'],
    renames: [{ seed: 'random_seed' }, 'Its name for it.'],
    effortRules: tabledEfforts(
      'mistral',
      [{ models: /./, efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'Others: all or nothing.',
    ),
    reasoningReplay: [
      'mistral_thinking',
      'A `thinking` part in the content; `reasoning_content` is refused (crush#1590).',
    ],
    emptyAssistantContent: ['empty', 'Null is refused.'],
    file: ['mistral', 'Documents, by URL or as data.'],
    audio: noSound,
    callIdForm: ['alphanumeric_9', 'Others are refused (opencode#1680, vllm#9019).'],
    toolMessageName: [true, 'Its tool messages have one.'],
    needsUser: [true, 'A conversation with assistant messages only is refused (mistral-common `validator.py`).'],
    assistantAfterTool: [
      true,
      "`Unexpected role 'user' after role 'tool'`: a short assistant message is inserted between them.",
    ],
    assistantPrefix: [
      true,
      'A last assistant message must be marked (mistral-common `validator.py`; the AI SDK does so).',
    ],
    toolChoice: [mistralChoice, '`any` for required; one function is offered alone.'],
    toolSchemaRoot: ['bare_object', '“failed to compile JSON schema”, for `$schema` and `$id` (litellm#13389).'],
  },
  models: [
    {
      match: /voxtral/i,
      reason: 'They take audio: `input_audio` gets a 200 there (observed).',
      flags: { audio: true },
    },
  ],
});

export const deepseek = server({
  name: 'deepseek',
  recognisedBy: { hosts: ['api.deepseek.com'] },
  otelName: 'deepseek',
  about:
    'api.deepseek.com. It insists that each call has its output and each output its call, as they always have here.',
  flags: {
    jsonSchema: ['json_object', 'Guarantees JSON but not a schema: the schema is described in a system message.'],
    reasoningEffort: ['thinking_and_effort', 'A switch, `thinking: {"type"}`, with `reasoning_effort` beside it.'],
    effortRules: tabledEfforts(
      'deepseek',
      [{ models: /./, efforts: { minimal: 'low', medium: 'high', xhigh: 'max' } }],
      'Others know low, high and max.',
    ),
    reasoningReplay: readsReasoningContent,
    reasoningBackfill: [
      { text: '', on: 'all' },
      'Newer models refuse an assistant message without the field (kimi-cli#2141).',
    ],
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
const aboutGeminiEfforts = 'Gemini 3 and 2.5 Pro cannot be told not to think; no Gemini knows more than high.';

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
  about: 'Gemini (OpenAI-compatible endpoint). Errors are arrays, and tool deltas have no index: both are read.',
  flags: {
    path: ['/v1beta/openai/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: newerLimit,
    effortRules: tabledEfforts('gemini', geminiEfforts, aboutGeminiEfforts),
    geminiSignatures: [
      true,
      'Gemini 3 answers 400 to a call without a thought signature (ai.google.dev, Thought signatures; LibreChat agents#37).',
    ],
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
    'Vertex AI (OpenAI-compatible endpoint). Its path names your project and location: set `UPSTREAM_PATH` to `/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi/chat/completions`. Models are named `google/gemini-…`; the access token must be renewed each hour.',
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
  otelName: 'anthropic',
  about:
    'Anthropic (OpenAI-compatible endpoint). It ignores `strict`, `response_format`, `logprobs`, penalties, `seed`, `user` and `service_tier` in silence, and moves all system messages to the front. What would be ignored is refused or named here, but for `seed`.',
  flags: {
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Ignored there.'],
    jsonSchema: ['prompt', 'Ignored there: a strict schema is refused, any other is described in a system message.'],
    reasoningEffort: ['none', 'Ignored there; thinking is turned on by its own `thinking` field, which is passed on.'],
    audio: noSound,
    strict: [false, 'Ignored there: arguments may not fit the schema. It is named as left out.'],
    cacheControl: [true, 'Its own field for cache breakpoints. †'],
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
    emptyAssistantContent: ['empty', 'Null is refused.'],
    audio: noSound,
    reasoningTokensExtra: [true, 'Reasoning tokens are counted beside completion tokens; they are added.'],
    dedupeTail: [true, 'Older versions repeat the whole text in the last chunk.'],
    toolSchemaRoot: [
      'plain_object',
      '“tool parameter root must be an object type (root schema is an anyOf/oneOf union with a non-object branch)” (opencodex#122, codex2api#580).',
    ],
  },
  models: [
    {
      match: /./,
      reason: 'Reasoning models answer 400 to them.',
      flags: { refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'] },
    },
    {
      match: /non-reasoning|grok-[23]/i,
      reason: 'They do not reason, and take all fields.',
      flags: { refusedFields: [] },
    },
    {
      match: /grok-3-mini/i,
      reason: 'It reasons, unlike the rest of its generation.',
      flags: { refusedFields: ['presence_penalty', 'frequency_penalty', 'stop'] },
    },
    {
      match: /grok-4.{0,64}reasoning/i,
      reason: 'They always or never reason, as their names say, and refuse the field.',
      flags: { reasoningEffort: 'none' },
    },
  ],
});

export const moonshot = server({
  name: 'moonshot',
  recognisedBy: { hosts: ['api.moonshot.ai', 'api.moonshot.cn'] },
  otelName: 'moonshot_ai',
  about:
    'Moonshot (Kimi). Parts are text, `image_url` and `video_url` only. Usage is in the last choice, and is read there.',
  flags: {
    promptCacheKey: [true, 'In its documentation.'],
    reasoningEffort: ['thinking_type', 'A switch, `thinking: {"type"}`.'],
    effortRules: tabledEfforts(
      'moonshot',
      [{ models: /kimi-k[3-9]/i, efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' } }],
      'K3 and later know low, high and max; K2.7 Code cannot be told not to think.',
    ),
    reasoningReplay: readsReasoningContent,
    reasoningBackfill: [
      { text: ' ', on: 'calls_while_thinking' },
      'While it thinks, it refuses calls without reasoning (deer-flow#3043), and an empty one (crush#2696).',
    ],
    emptyAssistantContent: noNull,
    audio: noSound,
    video: [true, 'Takes `video_url` parts.'],
    toolChoice: [modeChoice, 'The three words only. †'],
    toolSchemaRoot: [
      'plain_object',
      '“tools.function.parameters.type is required and must be "object"” (MiqroForge-Desktop#1165), and none beside `anyOf` (GitNexus#2703).',
    ],
  },
  models: [
    {
      match: /kimi-k2\.[56]/i,
      reason:
        'A call that is required is a 400 while they think, “tool_choice specified is incompatible with thinking enabled” (oh-my-pi#1077), which they do by default: with it they are told not to.',
      flags: { effortWithTools: { effort: 'none', when: 'required' } },
    },
    {
      match: /kimi-k2\.6/i,
      reason: 'Without `keep: "all"` the reasoning that it gets back is ignored (oh-my-pi#1839, kimi-code#1417).',
      flags: { reasoningEffort: 'thinking_keep' },
    },
    {
      match: /kimi-k(?:2\.[7-9]|[3-9])/i,
      reason:
        'They always think, so that no call can be required (big-AGI#1161): the tools are offered, and the choice is named as left out. A placeholder would be read as a thought of theirs: they keep earlier reasoning always (bifrost#3802).',
      flags: { toolChoice: ignoredChoice, reasoningBackfill: null },
    },
    {
      match: /kimi-k(?:2\.[5-9]|[3-9])/i,
      reason:
        '“invalid temperature: only 1 is allowed for this model”; `top_p` and penalties are fixed too (big-AGI#1161, nanobot#4967).',
      flags: { refusedFields: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] },
    },
    {
      match: /kimi-k[3-9]/i,
      reason: 'K3 and later have levels, in `reasoning_effort`, and refuse `thinking: {"type": "disabled"}`.',
      flags: { reasoningEffort: 'reasoning_effort' },
    },
  ],
});

export const dashscope = server({
  name: 'dashscope',
  recognisedBy: { hosts: ['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com'] },
  about:
    'Alibaba’s endpoint for Qwen, in its OpenAI-compatible mode. Tool content must be text, which it always is here. Some models of its coding plan repeat all of the text in every delta (qwen-code#3896): for those set `cumulativeDeltas`.',
  flags: {
    path: ['/compatible-mode/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['frequency_penalty'], 'Has the presence penalty only.'],
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
    'z.ai (GLM), and bigmodel.cn, whose API is the same. For its coding plan set `UPSTREAM_PATH` to `/api/coding/paas/v4/chat/completions`.',
  flags: {
    path: ['/api/paas/v4/chat/completions', 'Where its Chat API lives (docs.z.ai, Chat Completion).'],
    refusedFields: [['presence_penalty', 'frequency_penalty', 'logprobs'], 'Not in its API.'],
    defaults: [
      { thinking: { type: 'enabled', clear_thinking: false } },
      'By default earlier reasoning is cleared; GLM works better when it is kept (docs.z.ai, Preserved Thinking).',
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
      'From GLM-5.3 on thinking cannot be turned off.',
    ),
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: ['empty', 'Its templates or its validation require text, even if empty. †'],
    audio: noSound,
    video: [true, 'Takes `video_url` parts.'],
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [ignoredChoice, 'Knows `auto` only, which is the default.'],
    toolStream: [
      true,
      'Without it the arguments of a call come at once, at its end (docs.z.ai, Tool Streaming Output).',
    ],
  },
  models: [
    {
      match: /glm-(?:5\.[2-9]|[6-9])/i,
      reason: 'GLM-5.2 and later have levels, in `reasoning_effort` beside the switch.',
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
  about: 'MiniMax (api.minimax.io). Its models always think.',
  flags: {
    maxTokensField: ['max_completion_tokens', 'The older name is deprecated there (as AgentScope found).'],
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'Ignored there.'],
    defaults: [{ reasoning_split: true }, 'Without it the reasoning comes inside the text.'],
    jsonSchema: ['prompt', '`response_format` is not in its API (as AgentScope found).'],
    reasoningEffort: ['none', 'Not in its API.'],
    reasoningReplay: [
      'reasoning_details',
      'Its documentation demands the whole message back, `reasoning_details` included, between calls.',
    ],
    emptyAssistantContent: ['empty', 'Its templates or its validation require text, even if empty. †'],
    audio: noSound,
    strict: [false, 'Not in its API (as AgentScope found).'],
    parallelToolCalls: [false, 'Not in its API (as AgentScope found).'],
  },
});

export const perplexity = server({
  name: 'perplexity',
  recognisedBy: { hosts: ['api.perplexity.ai'] },
  otelName: 'perplexity',
  about: 'Perplexity (Sonar). It searches the web itself and supports no tools.',
  flags: {
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
    audio: noSound,
    tools: [false, 'Not in its API.'],
    strict: [false, 'Not in its API.'],
  },
});

export const cohere = server({
  name: 'cohere',
  recognisedBy: { hosts: ['api.cohere.ai', 'api.cohere.com'] },
  otelName: 'cohere',
  about:
    'Cohere’s compatibility API. What it does not support is in its documentation (docs.cohere.com, Compatibility API).',
  flags: {
    path: ['/compatibility/v1/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['logprobs'], '`top_logprobs` is not supported.'],
    effortRules: [
      [{ models: /./, efforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' } }],
      'Knows none and high: its thinking is on or off.',
    ],
    audio: noSound,
    parallelToolCalls: [false, 'Not supported.'],
    toolChoice: [modeChoice, 'A named function is not supported: it is offered alone and required.'],
  },
});
