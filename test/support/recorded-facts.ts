import type { ExchangeFacts } from '../../src/inspect/recording.ts';

/** The facts of an exchange that runs and of which nothing is known. */
export const recordedFacts: ExchangeFacts = {
  client: null,
  requestId: null,
  profile: 'generic',
  model: 'm',
  stream: true,
  dropped: [],
  outcome: null,
  status: null,
  upstreamStatus: null,
  errorCode: null,
  cause: null,
  finishReason: null,
  inputTokens: null,
  cachedTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  events: 0,
  durationMs: null,
  firstTokenMs: null,
};
