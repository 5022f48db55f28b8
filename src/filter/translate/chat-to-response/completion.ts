import { objectOf, textOf } from '../../../formats/json/loose.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { LooseChoice, LooseChunk, LooseMessage } from '../../wire/schema/chat-completion.ts';
import type { ResponseResource } from '../../wire/schema/response-resource.ts';
import type { ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import type { AnswerReport, ResponseContext } from '../shared/context.ts';
import { HeldBytes, readWord } from '../shared/held-bytes.ts';
import { findError, findErrorInWords } from './error.ts';
import { ChoiceParts, readChoices } from './read/choices.ts';
import { readCitations } from './read/citations.ts';
import { isErrorReason, isNormalEnd, readFinishReason, readOutcome } from './read/finish.ts';
import { readLogprobs } from './read/logprobs.ts';
import { UnreadNames } from './read/unread-names.ts';
import { findUsage, noUsage, readUsage } from './read/usage.ts';
import { ResponseWriter } from './write/response-writer.ts';

export interface TranslatedCompletion extends AnswerReport {
  readonly response: ResponseResource;
  /** The whole stream for a client that asked for a stream (docs/answers.md E6), with one delta for each part; else empty. */
  readonly events: readonly ResponseStreamEvent[];
}

/**
 * Translates a JSON answer of the upstream to a Response (docs/answers.md §1). An answer that went wrong after it began is a Response with
 * `status: "failed"` that keeps the output so far. Throws `ApiError` where there is no answer: an error body under a 200, or something
 * that is not a completion. `bytes` is the length of the answer, which bounds that of the events.
 */
export function translateCompletion(
  completion: unknown,
  context: ResponseContext,
  bytes = Number.POSITIVE_INFINITY,
): TranslatedCompletion {
  const body = objectOf<LooseChunk>(completion);
  const choice = body === null ? null : joinChoices(body);
  const upstreamError = findError(completion, context.profile.contextOverflow);
  const message = choice === null ? null : readMessage(choice);
  if (body === null || choice === null || message === null)
    throw upstreamError ?? findErrorInWords(completion, context.profile.contextOverflow) ?? notACompletion();

  const writer = new ResponseWriter(context, new HeldBytes(), context.stream);
  writer.came(bytes);
  const unread = new UnreadNames(writer.extensions);
  unread.addFields(body);
  writer.model = readWord(body.model);
  writer.serviceTier = readWord(body.service_tier);
  if (context.stream) writer.start();
  writer.usage = readUsage(findUsage(body), context.profile, writer.repairs);
  let error = upstreamError;
  try {
    const logprobs = context.wantsLogprobs ? readLogprobs(choice.logprobs) : [];
    writer.addWhole(message, { logprobs, citations: readCitations(body, message) });
  } catch (thrown) {
    error ??= ApiError.from(thrown);
  }
  const hasItems = writer.output.hasItems();
  if (upstreamError !== null && (!hasItems || context.answer.fold !== null)) throw upstreamError;
  if (error === null && textOf(choice.finish_reason) === '' && !hasItems) throw notACompletion();
  const response = writer.end(
    error === null ? readOutcome(choice.finish_reason, writer.output) : { status: 'failed', error },
  );
  const report = writer.report(readWord(choice.finish_reason) || null, unread);
  return { ...report, model: response.model, response, events: writer.log.take() };
}

/** Builds the Response to a request that needs no upstream: complete, without output, and without usage. */
export function buildEmptyAnswer(context: ResponseContext): Pick<TranslatedCompletion, 'response' | 'events'> {
  const writer = new ResponseWriter(context, new HeldBytes(), context.stream);
  writer.start();
  writer.usage = noUsage;
  const response = writer.end({ status: 'completed', hasCalled: false });
  return { response, events: writer.log.take() };
}

/** Returns the one choice, or all choices joined as parts of one answer; null for none. */
function joinChoices(body: LooseChunk): LooseChoice | null {
  const choices = readChoices(body);
  const [first, second] = choices;
  if (first !== undefined && second === undefined) {
    const message = readMessage(first);
    return message === null ? null : { message, finish_reason: readFinishReason(first), logprobs: first.logprobs };
  }
  const parts = new ChoiceParts();
  const keys = parts.assignKeys(choices);
  const keyed = choices.map((choice, position) => ({ key: keys[position] ?? position, choice }));
  const messages = keyed.flatMap(({ key, choice }) => {
    const message = readMessage(choice);
    return message === null ? [] : [parts.pickOwn(key, message)];
  });
  if (messages.length === 0) return null;
  const owned = keyed.filter(({ key }) => parts.isPart(key)).map(({ choice }) => choice);
  const reasons = (owned.length > 0 ? owned : choices).map(readFinishReason);
  const given = reasons.filter((reason) => reason !== '');
  const error = choices.map(readFinishReason).find(isErrorReason);
  return {
    message: Object.assign({}, ...messages),
    finish_reason: error ?? given.find((reason) => !isNormalEnd(reason)) ?? given[0],
    logprobs: keyed.find(({ key }) => parts.hasText(key))?.choice.logprobs,
  };
}

/** Reads the message of a choice. Some proxies answer with `delta` in its place; Azure leaves both out of a filtered choice. */
function readMessage(choice: LooseChoice): LooseMessage | null {
  const message = objectOf<LooseMessage>(choice.message) ?? objectOf<LooseMessage>(choice.delta);
  return message ?? (textOf(choice.finish_reason) === '' ? null : {});
}

function notACompletion(): ApiError {
  return ApiError.invalidUpstream('The upstream’s answer is not a chat completion.');
}
