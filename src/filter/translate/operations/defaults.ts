import { chatRequestBody } from '../../wire/schema/chat-request.ts';
import { translateCompletion } from '../completion.ts';
import type { AnswerForm } from '../context.ts';
import { unsupportedValue } from '../request/request-errors.ts';
import type { TranslatedOperation } from './operation.ts';

/** An answer that becomes a Response; as JSON, the client gets what `bodyOf` makes of that. */
export function responseAnswer(bodyOf: AnswerForm['bodyOf'] = (response) => response): AnswerForm {
  return {
    streams: true,
    asksUpstream: true,
    fold: null,
    readJson(value, context) {
      const { response, events, ...report } = translateCompletion(value, context);
      return { body: bodyOf(response), events, report };
    },
    bodyOf,
  };
}

/** What operations have in common: a Chat request, answered as JSON. Each has its own path. */
export const defaults: Omit<TranslatedOperation, 'path' | 'of'> = {
  type: 'translated',
  method: 'POST',
  generates: true,
  upstreamPath: (_profile, chatPath) => chatPath,
  check({ stream }) {
    if (stream === true) throw unsupportedValue('stream', `This endpoint answers with JSON. Leave 'stream' out.`);
  },
  conversation: ({ max_output_tokens: maxTokens }, items) => ({ items, maxTokens }),
  constraints: (wanted) => wanted,
  passthrough: (given) => given,
  prewarms: false,
  body: chatRequestBody,
  answer: responseAnswer(),
};
