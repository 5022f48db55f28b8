import type { Profile } from '../../upstream/profile.ts';
import {
  type ChatCompletionRequest,
  type ChatToolChoice,
  chatRequestBody,
  type Passthrough,
} from '../../wire/schema/chat-request.ts';
import { translateCompletion } from '../chat-to-response/completion.ts';
import type { OfferedTool } from '../request-to-chat/tools-to-chat.ts';
import type { AnswerForm } from '../shared/context.ts';
import type { Reading } from '../shared/dropped.ts';
import type { CreateResponse, InputItem } from '../shared/parsed.ts';
import { unsupportedValue } from '../shared/request-errors.ts';
import type { CatalogSettings, TranslationSettings } from '../shared/settings.ts';

/** A kind of request: its object has all that distinguishes it from the others. `operations.ts` lists them. */
export type Operation = TranslatedOperation | PassedOperation;

/** An operation whose body becomes a request of the upstream's own API. */
export interface TranslatedOperation {
  readonly type: 'translated';
  readonly method: 'POST';
  /** The segments of its path, after any prefix. */
  readonly path: readonly string[];
  /** A model answers it: there are tokens to pay for. */
  readonly generates: boolean;
  /** Template of the path; `chatPath` is that of Chat Completions. Throws `ApiError` if the server has none. */
  upstreamPath(profile: Profile, chatPath: string): string;
  /** The operation that a body asks for on this path, of a server with that profile. */
  of(request: CreateResponse, profile: Profile): TranslatedOperation;
  /** Throws `ApiError` for what only other operations take. */
  check(request: CreateResponse, settings: TranslationSettings): void;
  /** What the model is sent. Throws `ApiError`. */
  conversation(request: CreateResponse, input: readonly InputItem[], reading: Reading): Conversation;
  /** What the model is asked for besides text. */
  constraints(wanted: Constraints): Constraints;
  /** The client's own fields that the upstream gets. */
  passthrough(given: Passthrough): Passthrough;
  /** A request to prewarm the cache is met, not only answered. */
  readonly prewarms: boolean;
  /** The upstream's body. */
  body(chat: ChatCompletionRequest, passthrough: Passthrough): object;
  readonly answer: AnswerForm;
}

export interface Conversation {
  readonly items: readonly InputItem[];
  readonly maxTokens: number | null | undefined;
}

/** Constraints on the form of an answer. */
export interface Constraints {
  readonly tools: readonly OfferedTool[];
  readonly toolChoice: ChatToolChoice | undefined;
  readonly format: ChatCompletionRequest['response_format'];
  /** The format in words, for servers that have no field for it. */
  readonly formatText: string | null;
  readonly logprobs: boolean;
}

/** An operation that the upstream answers itself; its answer is completed on the way. */
export interface PassedOperation {
  readonly type: 'passed';
  readonly method: 'GET';
  readonly path: readonly string[];
  /** A parameter of the query without which the request is not this operation. */
  readonly parameter: string;
  /** The completed answer; null if the client gets it unchanged. */
  complete(
    answer: unknown,
    settings: { readonly catalog: CatalogSettings; readonly profile: Profile },
    maxBytes: number,
  ): object | null;
}

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
