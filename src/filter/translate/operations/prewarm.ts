import type { InputItem } from '../request/parsed.ts';
import { standIn } from '../request/passes/message-pass.ts';
import { mark } from '../request/trace.ts';
import { responseAnswer } from './defaults.ts';
import type { TranslatedOperation } from './operation.ts';

/**
 * The whole prompt with the least answer that a server gives: what it reads stays in its cache, and what it writes is thrown
 * away. The Response is empty, and its usage is what that took.
 */
export const oneToken = {
  conversation({ prewarm }, items, { settings: { trace } }) {
    if (items.some((item) => item.kind === 'message' && item.role === 'user')) return { items, maxTokens: 1 };
    // Many templates refuse a conversation in which no user speaks; instructions and tools come before that.
    const question: InputItem = { kind: 'message', role: 'user', content: [{ type: 'text', text: standIn }] };
    if (trace !== undefined && prewarm !== null) mark(question, prewarm);
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

/** Nothing is asked of a server that keeps nothing, or where nothing is to be kept. The Response is empty. */
export const noCall = {
  answer: { ...oneToken.answer, asksUpstream: false },
} satisfies Partial<TranslatedOperation>;
