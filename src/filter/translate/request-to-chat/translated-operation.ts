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
  /** Does a model answer, so that there are tokens to pay for? */
  readonly generates: boolean;
  /** The template of the upstream's path; `chatPath` is that of Chat Completions. Throws `ApiError` if the server has none. */
  upstreamPath(profile: Profile, chatPath: string): string;
  /** The operation that a body asks for on this path. */
  forRequest(request: CreateResponse, profile: Profile): TranslatedOperation;
  /** Throws `ApiError` for what only other operations take. */
  check(request: CreateResponse, settings: TranslationSettings): void;
  /** The items that the model reads, and how many tokens it may write. Throws `ApiError`. */
  conversation(
    request: CreateResponse,
    input: readonly InputItem[],
    reading: Reading,
  ): { readonly items: readonly InputItem[]; readonly maxTokens: number | null | undefined };
  constraints(wanted: Constraints): Constraints;
  /** The client's own fields that the upstream gets. */
  passthrough(given: Passthrough): Passthrough;
  /** Is a request to prewarm the cache met, and not only answered? */
  readonly prewarms: boolean;
  body(chat: ChatCompletionRequest, passthrough: Passthrough): object;
  readonly answer: AnswerForm;
}

export interface Constraints {
  readonly tools: readonly OfferedTool[];
  readonly toolChoice: ChatToolChoice | undefined;
  readonly format: ChatCompletionRequest['response_format'];
  /** The format in words, for servers that have no field for it. */
  readonly formatText: string | null;
  readonly logprobs: boolean;
}
