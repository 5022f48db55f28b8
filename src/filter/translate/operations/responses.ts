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
  // `store: true` is refused where fields are parsed, for every operation. A missing `store` would mean true for this operation alone.
  check({ store }, { omittedStore }) {
    if (store == null && omittedStore === 'reject')
      throw missingParameter('store', 'Nothing is stored here: send "store": false.');
  },
};

/** A request whose input ends in a `compaction_trigger`: its Response has one `compaction` item as output. */
export const compactionTrigger: TranslatedOperation = { ...responses, ...summary, forRequest: () => compactionTrigger };

/** Sends the whole prompt and discards an answer of one token, so that the prompt is in the cache. The usage is that of this answer. */
const oneToken = {
  conversation({ prewarm }, items, { provenance }) {
    if (items.some((item) => item.kind === 'message' && item.role === 'user')) return { items, maxTokens: 1 };
    // Many templates refuse a conversation without a message of the user's; instructions and tools come before that message.
    const question: InputItem = { kind: 'message', role: 'user', content: [{ type: 'text', text: standIn }] };
    if (prewarm !== null) provenance.mark(question, prewarm);
    return { items: [...items, question], maxTokens: 1 };
  },
  constraints: ({ tools, toolChoice, format, formatText }) => ({
    tools,
    // One token cannot hold a required call, and servers fail at the rest; the prompt is the same without the choice.
    toolChoice: toolChoice === 'none' ? toolChoice : undefined,
    format,
    formatText,
    logprobs: false,
  }),
  passthrough: (given) => new Map([...given].filter(([name]) => name !== 'min_tokens')),
  prewarms: true,
  answer: { ...responseAnswer(), fold: () => [] },
} satisfies Partial<TranslatedOperation>;

/** Asks for a warm cache and no output, where there is a cache to warm. */
export const prewarmed: TranslatedOperation = { ...responses, ...oneToken, forRequest: () => prewarmed };
/** Asks nothing of a server without a prefix cache, or for a request without a prompt. The Response is empty. */
export const notPrewarmed: TranslatedOperation = {
  ...responses,
  answer: { ...oneToken.answer, asksUpstream: false },
  forRequest: () => notPrewarmed,
};
