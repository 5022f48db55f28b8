import type { Profile } from '../../upstream/profile.ts';
import type { ChatCompletionRequest, ChatToolChoice, Passthrough } from '../../wire/schema/chat-request.ts';
import type { AnswerForm } from '../shared/context.ts';
import type { Reading } from '../shared/dropped.ts';
import type { CreateResponse, InputItem } from '../shared/parsed.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import type { OfferedTool } from './tools-to-chat.ts';

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
  forRequest(request: CreateResponse, profile: Profile): TranslatedOperation;
  /** Throws `ApiError` for what only other operations take. */
  check(request: CreateResponse, settings: TranslationSettings): void;
  /** The conversation that the model is sent. Throws `ApiError`. */
  conversation(request: CreateResponse, input: readonly InputItem[], reading: Reading): ModelInput;
  /** The constraints on the model's answer. */
  constraints(wanted: Constraints): Constraints;
  /** The client's own fields that the upstream gets. */
  passthrough(given: Passthrough): Passthrough;
  /** A request to prewarm the cache is met, not only answered. */
  readonly prewarms: boolean;
  /** The upstream's body. */
  body(chat: ChatCompletionRequest, passthrough: Passthrough): object;
  readonly answer: AnswerForm;
}

/** The items that the model reads, and how much it may write. */
export interface ModelInput {
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
