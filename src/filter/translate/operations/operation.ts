import type { Profile } from '../../upstream/profile.ts';
import { chatRequestBody } from '../../wire/schema/chat-request.ts';
import { translateCompletion } from '../chat-to-response/completion.ts';
import type { TranslatedOperation } from '../request-to-chat/translated-operation.ts';
import type { AnswerForm } from '../shared/context.ts';
import { unsupportedValue } from '../shared/request-errors.ts';
import type { CatalogSettings } from '../shared/settings.ts';

/** A kind of request: its object has all that distinguishes it from the others. `translate-request.ts` lists them. */
export type Operation = TranslatedOperation | PassedOperation;

/** An operation that the upstream answers itself; its answer is completed on the way. */
export interface PassedOperation {
  readonly type: 'passed';
  readonly method: 'GET';
  readonly path: readonly string[];
  /** The parameter of the query that makes the request this operation. */
  readonly parameter: string;
  /** The completed answer; null if the client gets the answer unchanged. */
  complete(
    answer: unknown,
    settings: { readonly catalog: CatalogSettings; readonly profile: Profile },
    maxBytes: number,
  ): object | null;
}

/** An answer that becomes a Response; as JSON, the client gets what `writeBody` makes of that. */
export function responseAnswer(writeBody: AnswerForm['writeBody'] = (response) => response): AnswerForm {
  return {
    streams: true,
    asksUpstream: true,
    fold: null,
    readJson(value, context, bytes) {
      const { response, events, ...report } = translateCompletion(value, context, bytes);
      return { body: writeBody(response), events, report };
    },
    writeBody,
  };
}

/** What operations have in common: a Chat request, answered as JSON. */
export const defaults: Omit<TranslatedOperation, 'path' | 'forRequest'> = {
  type: 'translated',
  method: 'POST',
  generates: true,
  upstreamPath: (_profile, chatPath) => chatPath,
  check({ stream }) {
    if (stream === true)
      throw unsupportedValue('stream', `This endpoint always answers with JSON. Leave 'stream' out.`);
  },
  conversation: ({ max_output_tokens: maxTokens }, items) => ({ items, maxTokens }),
  constraints: (wanted) => wanted,
  passthrough: (given) => given,
  prewarms: false,
  body: chatRequestBody,
  answer: responseAnswer(),
};
