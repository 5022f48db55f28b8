import { kimiIds, templateRules } from '../chat-templates.ts';
import {
  claudeRule,
  gptOssEfforts,
  newerLimit,
  noNull,
  noSound,
  readsReasoningContent,
  server,
  tabledEfforts,
  voxtralRule,
} from './generic.ts';

/** Platforms that host or route to the models of others. */

const onlyDefault = Object.fromEntries(
  ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((effort) => [effort, 'default']),
);

export const groq = server({
  name: 'groq',
  recognisedBy: { hosts: ['api.groq.com'] },
  about: 'api.groq.com.',
  flags: {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: newerLimit,
    refusedFields: [['logprobs'], 'Not in its API. †'],
    serviceTiers: [{ auto: 'auto', default: 'on_demand', flex: 'flex' }, 'From console.groq.com, Service Tiers.'],
    effortRules: tabledEfforts(
      'groq',
      [
        { models: /qwen/i, efforts: onlyDefault },
        { models: /./, efforts: gptOssEfforts },
      ],
      'Older Qwen models know `none` and `default` (pi#1745).',
    ),
    jsonSchema: [
      'native_without_tools',
      '“json mode cannot be combined with tool/function calling” (vercel/ai#16540, agno#1065).',
    ],
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    reasoningScope: ['tool_turns', 'Its models ignore older reasoning, which costs tokens.'],
    audio: noSound,
    toolSchemaRoot: ['object', "“'required' present but 'properties' is missing” (strix#1088)."],
  },
  models: [
    {
      match: /qwen|qwq|deepseek/i,
      reason: 'Else reasoning comes inside the text. Other models refuse the field. †',
      flags: { defaults: { reasoning_format: 'parsed' } },
    },
  ],
});

export const openrouter = server({
  name: 'openrouter',
  recognisedBy: { hosts: ['openrouter.ai'] },
  about: 'OpenRouter. It drops what a provider does not take.',
  flags: {
    path: ['/api/v1/chat/completions', 'Where its Chat API lives.'],
    verbosity: [true, 'Passed on to providers that have it.'],
    promptCacheKey: [true, 'In its documentation.'],
    reasoningEffort: ['reasoning_object', 'With `exclude: false`, so that reasoning comes back.'],
    reasoningReplay: ['reasoning_details', 'Reasoning goes back as it came, signatures too.'],
    developerRole: ['keep', 'Knows the role, which outranks the user’s.'],
    systemMessages: ['anywhere', 'System and developer messages keep their places and stay apart.'],
    arrayContent: [true, 'Several text parts may stay parts.'],
    file: ['openrouter', 'PDF as data or by URL.'],
    cacheControl: [true, 'Passed on to Anthropic, Gemini and Qwen models.'],
    video: [true, 'Takes `video_url` parts.'],
  },
  models: [claudeRule, ...kimiIds],
});

export const together = server({
  name: 'together',
  recognisedBy: { hosts: ['api.together.xyz', 'api.together.ai'] },
  about: 'api.together.xyz.',
  flags: {
    effortRules: [[{ models: /gpt-oss/i, efforts: gptOssEfforts }], 'gpt-oss knows low, medium and high.'],
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: noNull,
    audio: noSound,
  },
  models: templateRules,
});

export const fireworks = server({
  name: 'fireworks',
  recognisedBy: { hosts: ['api.fireworks.ai'] },
  about: 'api.fireworks.ai.',
  flags: {
    user: [false, 'Left out in LibreChat’s guide (`dropParams`).'],
    path: ['/inference/v1/chat/completions', 'Where its Chat API lives.'],
    promptCacheKey: [true, 'In its documentation.'],
    effortRules: tabledEfforts('fireworks', [], 'Other models get what was asked for.'),
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: noNull,
    audio: noSound,
    thinkTags: ['on', 'Some models put reasoning into the text.'],
  },
  models: templateRules,
});

export const cerebras = server({
  name: 'cerebras',
  recognisedBy: { hosts: ['api.cerebras.ai'] },
  about: 'Cerebras (inference-docs.cerebras.ai, OpenAI Compatibility).',
  flags: {
    maxTokensField: newerLimit,
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'Not in its API.'],
    serviceTiers: [{ auto: 'auto', default: 'default', flex: 'flex', priority: 'priority' }, 'Its tiers. †'],
    effortRules: tabledEfforts(
      'cerebras',
      [{ models: /gpt-oss/i, efforts: gptOssEfforts }],
      'gpt-oss knows low, medium and high.',
    ),
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field. †'],
    audio: noSound,
  },
});

export const bedrock = server({
  name: 'bedrock',
  recognisedBy: { hosts: ['bedrock-runtime.*.amazonaws.com', 'bedrock-runtime.*.amazonaws.com.cn'] },
  otelName: 'aws.bedrock',
  about: 'Amazon Bedrock’s own Chat endpoint (`bedrock-runtime.REGION.amazonaws.com`), with a Bedrock API key.',
  flags: {
    path: ['/openai/v1/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: newerLimit,
    serviceTiers: [{ default: 'default', flex: 'flex', priority: 'priority' }, 'Its tiers. †'],
    effortRules: [[{ models: /gpt-oss/i, efforts: gptOssEfforts }], 'gpt-oss knows low, medium and high.'],
    audio: noSound,
    stubTools: [true, '“toolConfig must be defined” (litellm#31400, opencode#10259).'],
  },
  models: [claudeRule, voxtralRule],
});

export const databricks = server({
  name: 'databricks',
  recognisedBy: { hosts: ['*.databricks.com', '*.databricksapps.com', '*.azuredatabricks.net'] },
  about: 'Databricks (Foundation Model APIs).',
  flags: {
    path: ['/serving-endpoints/chat/completions', 'Where its Chat API lives.'],
    refusedFields: [['presence_penalty', 'frequency_penalty'], 'Not in its API.'],
    audio: noSound,
    cacheControl: [true, 'Passed on to Claude models.'],
    parallelToolCalls: [false, 'Not in its API. †'],
    stubTools: [true, 'Its Claude models come from Bedrock. †'],
  },
  models: [claudeRule],
});

export const huggingface = server({
  name: 'huggingface',
  recognisedBy: { hosts: ['router.huggingface.co'] },
  about:
    'Hugging Face’s router (router.huggingface.co), to many providers. A model’s name may end in a provider, `:fireworks-ai`, or a policy, `:fastest`.',
  flags: {
    emptyAssistantContent: ['empty', 'From huggingface.js `chat-completion`.'],
    audio: [false, 'From huggingface.js `chat-completion`.'],
  },
  models: [
    ...templateRules,
    {
      match: /qwen3-coder/i,
      reason:
        '“strict=True is not supported for Qwen Coder model.” (pydantic-ai#3062); other models’ providers require it (inspect_ai#3043).',
      flags: { strict: false },
    },
  ],
});

export const snowflake = server({
  name: 'snowflake',
  recognisedBy: { hosts: ['*.snowflakecomputing.com'] },
  about:
    'Snowflake Cortex. It refuses a conversation whose last message is the assistant’s, as complete (opencode#11455, litellm#30762).',
  flags: {
    path: ['/api/v2/cortex/v1/chat/completions', 'Where its Chat API lives.'],
    maxTokensField: [
      'max_completion_tokens',
      '`max_tokens` is ignored: an answer ends at 4,096 (langchain-snowflake#132).',
    ],
    user: [false, 'LiteLLM leaves it out there (`get_supported_openai_params`). †'],
    audio: noSound,
  },
  models: [...templateRules, claudeRule],
});
