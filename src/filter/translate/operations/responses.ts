import { standIn } from '../request-to-chat/passes/message-pass.ts';
import type { TranslatedOperation } from '../request-to-chat/translated-operation.ts';
import type { InputItem } from '../shared/parsed.ts';
import { missingParameter } from '../shared/request-errors.ts';
import { summary } from './compaction.ts';
import { defaults, responseAnswer } from './operation.ts';

/** `POST /v1/responses`: an answer, as JSON or as a stream. */
export const responses: TranslatedOperation = {
  ...defaults,
  path: ['v1', 'responses'],
  forRequest({ endsInTrigger, prewarm, input, instructions }, { prefixCache }) {
    if (prewarm === null) return endsInTrigger ? compactionTrigger : responses;
    return prefixCache && (input?.length || instructions) ? prewarmed : notPrewarmed;
  },
  // `store: true` is refused where fields are parsed, for every operation; a missing one would mean true here alone.
  check({ store }, { omittedStore }) {
    if (store == null && omittedStore === 'reject')
      throw missingParameter('store', 'Nothing is stored here: send "store": false.');
  },
};

/** A request whose input ends in a `compaction_trigger`: its Response has one `compaction` item as output. */
export const compactionTrigger: TranslatedOperation = { ...responses, ...summary, forRequest: () => compactionTrigger };

/** The whole prompt with the least answer, which is thrown away: the cache is warm. The usage is what that took. */
const oneToken = {
  conversation({ prewarm }, items, { provenance }) {
    if (items.some((item) => item.kind === 'message' && item.role === 'user')) return { items, maxTokens: 1 };
    // Many templates refuse a conversation in which no user speaks; instructions and tools come before that.
    const question: InputItem = { kind: 'message', role: 'user', content: [{ type: 'text', text: standIn }] };
    if (prewarm !== null) provenance.mark(question, prewarm);
    return { items: [...items, question], maxTokens: 1 };
  },
  constraints: ({ tools, toolChoice, format, formatText }) => ({
    tools,
    // The prompt is the same without it, and a call that must be made is not made of one token: servers fail at the rest.
    toolChoice: toolChoice === 'none' ? toolChoice : undefined,
    format,
    formatText,
    logprobs: false,
  }),
  passthrough: (given) => new Map([...given].filter(([name]) => name !== 'min_tokens')),
  prewarms: true,
  answer: { ...responseAnswer(), fold: () => [] },
} satisfies Partial<TranslatedOperation>;

/** A request for a warm cache and no output, where there is a cache to warm. */
export const prewarmed: TranslatedOperation = { ...responses, ...oneToken, forRequest: () => prewarmed };
/** Where there is none: nothing is asked of a server that keeps nothing, or where nothing is to be kept. The Response is empty. */
export const notPrewarmed: TranslatedOperation = {
  ...responses,
  answer: { ...oneToken.answer, asksUpstream: false },
  forRequest: () => notPrewarmed,
};
