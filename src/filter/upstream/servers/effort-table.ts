type TableRow = readonly [models: string, efforts: Readonly<Record<string, string>>];

/**
 * Written by `node scripts/generate/effort-table.ts` from @earendil-works/pi-ai 1.5.2 (MIT), whose data are models.dev's (MIT) of
 * 2026-11-10: by profile, names of models, and what these are sent in place of reasoning efforts that they refuse.
 */
export const effortTable = {
  cerebras: [
    ['gpt-oss-120b', { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' }],
    ['qwen-3.8-27b', { minimal: 'low', xhigh: 'high', max: 'high' }],
  ],
  deepseek: [
    ['deepseek-flash', { minimal: 'low', medium: 'high', xhigh: 'max' }],
    ['deepseek-v4-pro', { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' }],
  ],
  fireworks: [
    ['deepseek-flash-latest deepseek-v4p1-flash', { minimal: 'low', medium: 'high', xhigh: 'max' }],
    ['ember-1 kimi-fast-latest kimi-latest', { minimal: 'low', xhigh: 'max' }],
    ['minimax-latest minimax-m3', { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' }],
    ['minimax-m3p1-flash', { none: 'low', minimal: 'low' }],
    ['muse-spark-open', { none: 'low', minimal: 'low', max: 'xhigh' }],
    ['qwen-max-latest qwen3p8-2p4t-a95b qwen3p8-max', { minimal: 'low', high: 'xhigh', max: 'xhigh' }],
    [
      'glm-5p3 glm-fast-latest glm-flash-latest glm-latest kimi-k3 kimi-k3p1-pro',
      { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' },
    ],
  ],
  gemini: [
    [
      'gemini-3-flash-preview gemini-3.1-flash-lite gemini-3.5-flash gemini-3.6-flash gemini-flash-latest gemini-flash-lite-latest gemini-robotics-er-2-preview',
      { none: 'minimal', xhigh: 'high', max: 'high' },
    ],
    [
      'gemini-3.1-pro-preview gemini-3.7-flash gemini-3.8-flash gemini-4-argon gemini-pro-latest',
      { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    ],
  ],
  groq: [
    ['gpt-oss-120b gpt-oss-20b gpt-oss-safeguard-20b', { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' }],
    [
      'qwen3.6-27b',
      { minimal: 'default', low: 'default', medium: 'default', high: 'default', xhigh: 'default', max: 'default' },
    ],
    ['qwen3.8-27b', { minimal: 'low', xhigh: 'high', max: 'high' }],
  ],
  mistral: [
    ['deepseek-v4-1-flash-1017', { minimal: 'low', medium: 'high', xhigh: 'max' }],
    ['glm-5-2 zai-glm-5-2', { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' }],
    [
      'labs-leanstral-1-5-1 magistral-medium-latest mistral-medium-2604 mistral-medium-3.5 mistral-medium-latest mistral-small-2603 mistral-small-latest',
      { minimal: 'high', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
    ],
    ['mistral-large-4', { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' }],
    ['zai-glm-5-3', { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' }],
  ],
  moonshot: [
    ['kimi-k2.7-code', { none: 'minimal', xhigh: 'high', max: 'high' }],
    ['kimi-k3 kimi-k3.1-pro', { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' }],
  ],
  vertex: [
    [
      'gemini-3-flash-preview gemini-3.1-flash-lite gemini-3.5-flash gemini-3.6-flash',
      { none: 'minimal', xhigh: 'high', max: 'high' },
    ],
    [
      'gemini-3.1-pro-preview gemini-3.7-flash gemini-3.8-flash gemini-4-argon',
      { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
    ],
  ],
  xai: [
    ['grok-4.3', { minimal: 'low', max: 'xhigh' }],
    ['grok-4.5 grok-4.6 grok-4.7', { none: 'low', minimal: 'low', max: 'xhigh' }],
  ],
  zai: [
    ['glm-5.2', { minimal: 'high', low: 'high', medium: 'high', xhigh: 'max' }],
    ['glm-5.3', { none: 'low', minimal: 'low', medium: 'high', xhigh: 'max' }],
  ],
} as const satisfies Readonly<Record<string, readonly TableRow[]>>;
