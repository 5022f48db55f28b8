import type { ProfileFlags } from '../profile.ts';

/**
 * Written by `npm run efforts` from @earendil-works/pi-ai 1.5.2 (MIT), whose data are models.dev's (MIT) of
 * 2026-11-10: by profile, what models are sent in place of reasoning efforts that they refuse.
 */
export const effortTable = {
  cerebras: [
    {
      models: /(?:^|\/)(?:(?:gpt-oss-120b)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
    { models: /(?:^|\/)(?:(?:qwen-3\.8-27b)(?:[-:@].*)?)$/i, efforts: { minimal: 'low', xhigh: 'high', max: 'high' } },
  ],
  deepseek: [
    {
      models: /(?:^|\/)(?:(?:deepseek-flash)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'low', medium: 'high', xhigh: 'max' },
    },
    {
      models: /(?:^|\/)(?:(?:deepseek-v4-pro)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' },
    },
  ],
  fireworks: [
    {
      models: /(?:^|\/)(?:(?:deepseek-flash-latest|deepseek-v4p1-flash)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'low', medium: 'high', xhigh: 'max' },
    },
    {
      models: /(?:^|\/)(?:(?:ember-1|kimi-fast-latest|kimi-latest)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'low', xhigh: 'max' },
    },
    {
      models: /(?:^|\/)(?:(?:minimax-latest|minimax-m3)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
    { models: /(?:^|\/)(?:(?:minimax-m3p1-flash)(?:[-:@].*)?)$/i, efforts: { none: 'low', minimal: 'low' } },
    { models: /(?:^|\/)(?:(?:muse-spark-open)(?:[-:@].*)?)$/i, efforts: { none: 'low', minimal: 'low', max: 'xhigh' } },
    {
      models: /(?:^|\/)(?:(?:qwen-max-latest|qwen3p8-2p4t-a95b|qwen3p8-max)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'low', high: 'xhigh', max: 'xhigh' },
    },
    {
      models: /(?:^|\/)(?:(?:glm-5p3|glm-fast-latest|glm-flash-latest|glm-latest|kimi-k3|kimi-k3p1-pro)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
    },
  ],
  gemini: [
    {
      models:
        /(?:^|\/)(?:(?:gemini-3-flash-preview|gemini-3\.1-flash-lite|gemini-3\.5-flash|gemini-3\.6-flash|gemini-flash-latest|gemini-flash-lite-latest|gemini-robotics-er-2-preview)(?:[-:@].*)?)$/i,
      efforts: { none: 'minimal', xhigh: 'high', max: 'high' },
    },
    {
      models:
        /(?:^|\/)(?:(?:gemini-3\.1-pro-preview|gemini-3\.7-flash|gemini-3\.8-flash|gemini-4-argon|gemini-pro-latest)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
  ],
  groq: [
    {
      models: /(?:^|\/)(?:(?:gpt-oss-120b|gpt-oss-20b|gpt-oss-safeguard-20b)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
    {
      models: /(?:^|\/)(?:(?:qwen3\.6-27b)(?:[-:@].*)?)$/i,
      efforts: {
        minimal: 'default',
        low: 'default',
        medium: 'default',
        high: 'default',
        xhigh: 'default',
        max: 'default',
      },
    },
    { models: /(?:^|\/)(?:(?:qwen3\.8-27b)(?:[-:@].*)?)$/i, efforts: { minimal: 'low', xhigh: 'high', max: 'high' } },
  ],
  mistral: [
    {
      models: /(?:^|\/)(?:(?:deepseek-v4-1-flash-1017)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'low', medium: 'high', xhigh: 'max' },
    },
    {
      models: /(?:^|\/)(?:(?:glm-5-2|zai-glm-5-2)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' },
    },
    {
      models:
        /(?:^|\/)(?:(?:labs-leanstral-1-5-1|magistral-medium-latest|mistral-medium-2604|mistral-medium-3\.5|mistral-medium-latest|mistral-small-2603|mistral-small-latest)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
    },
    {
      models: /(?:^|\/)(?:(?:mistral-large-4)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
    {
      models: /(?:^|\/)(?:(?:zai-glm-5-3)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
    },
  ],
  moonshot: [
    {
      models: /(?:^|\/)(?:(?:kimi-k2\.7-code)(?:[-:@].*)?)$/i,
      efforts: { none: 'minimal', xhigh: 'high', max: 'high' },
    },
    {
      models: /(?:^|\/)(?:(?:kimi-k3|kimi-k3\.1-pro)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
    },
  ],
  vertex: [
    {
      models:
        /(?:^|\/)(?:(?:gemini-3-flash-preview|gemini-3\.1-flash-lite|gemini-3\.5-flash|gemini-3\.6-flash)(?:[-:@].*)?)$/i,
      efforts: { none: 'minimal', xhigh: 'high', max: 'high' },
    },
    {
      models:
        /(?:^|\/)(?:(?:gemini-3\.1-pro-preview|gemini-3\.7-flash|gemini-3\.8-flash|gemini-4-argon)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    },
  ],
  xai: [
    { models: /(?:^|\/)(?:(?:grok-4\.3)(?:[-:@].*)?)$/i, efforts: { minimal: 'low', max: 'xhigh' } },
    {
      models: /(?:^|\/)(?:(?:grok-4\.5|grok-4\.6|grok-4\.7)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', max: 'xhigh' },
    },
  ],
  zai: [
    {
      models: /(?:^|\/)(?:(?:glm-5\.2)(?:[-:@].*)?)$/i,
      efforts: { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' },
    },
    {
      models: /(?:^|\/)(?:(?:glm-5\.3)(?:[-:@].*)?)$/i,
      efforts: { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
    },
  ],
} as const satisfies Readonly<Record<string, ProfileFlags['effortRules']>>;
