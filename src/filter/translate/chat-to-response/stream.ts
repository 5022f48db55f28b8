import { objectOf } from '../../../formats/json/loose.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { LooseChoice, LooseChunk, LooseMessage, LooseUsage } from '../../wire/schema/chat-completion.ts';
import type { ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import type { AnswerReport, ResponseContext } from '../shared/context.ts';
import { HeldBytes, readWord } from '../shared/held-bytes.ts';
import { findError, findErrorInText, findErrorInWords, readErrorEvent } from './error.ts';
import { ChoiceParts, isEmptyDelta, readChoices } from './read/choices.ts';
import { readCitations } from './read/citations.ts';
import { CumulativeDeltas } from './read/cumulative-deltas.ts';
import { DeltaTemplate } from './read/delta-template.ts';
import { type DeltaField, type FastDelta, readFastDelta } from './read/fast-delta.ts';
import { isErrorReason, isNormalEnd, readFinishReason, readOutcome, truncated } from './read/finish.ts';
import { readLogprobs } from './read/logprobs.ts';
import { UnreadNames } from './read/unread-names.ts';
import { findUsage, joinUsage, readUsage } from './read/usage.ts';
import { ResponseWriter } from './write/response-writer.ts';

/** After so many malformed pieces of data in a row, each different from the last, the stream fails. */
const maxMalformedInRow = 3;
const maxKeepAlive = 64;

export interface StreamReport extends AnswerReport {
  readonly events: number;
}

/**
 * Translates the Chat Completions chunks of one answer to Responses events. After the terminal event every call returns none. Nothing
 * an upstream sends makes it throw: each oddity has a rule in `docs/answers.md` §2 and a case in `test/golden/stream-*.md`.
 */
export class StreamTranslator {
  readonly #context: ResponseContext;
  readonly #held = new HeldBytes();
  readonly response: ResponseWriter;
  readonly #template = new DeltaTemplate();
  readonly #unreadNames: UnreadNames;
  /** Null where deltas are pieces, as nearly everywhere. */
  readonly #cumulative: CumulativeDeltas | null;
  finishReason: string | null = null;
  readonly #parts = new ChoiceParts();
  #finished: number | null = null;
  /** The index of every choice so far, for the fast path. */
  #choiceIndex: unknown;
  #chunks = 0;
  #malformed = 0;
  #malformedInRow = 0;
  /** The last data that was skipped, if it may be a keep-alive. */
  #skipped: string | null = null;
  /** Data was torn after a finish reason: it may have belonged to another choice, if one follows. */
  #isTornAtEnd = false;
  #counts: LooseUsage | null = null;
  /** The error in the first data that was not a chunk. */
  #unread: ApiError | null = null;

  constructor(context: ResponseContext) {
    this.#context = context;
    this.response = new ResponseWriter(context, this.#held);
    this.#unreadNames = new UnreadNames(this.response.extensions);
    this.#cumulative = context.profile.cumulativeDeltas ? new CumulativeDeltas(this.#held) : null;
  }

  /** Emits `response.created` and `response.in_progress`, once. The other methods emit them first if this was not called. */
  start(): ResponseStreamEvent[] {
    return this.#taken(() => this.response.start());
  }

  /** Takes a value of the stream, and the name of its event. From its text `json`, `pushRawJson` learns how such chunks look. */
  push(chunk: unknown, eventName: string | null = null, json?: string): ResponseStreamEvent[] {
    if (!this.ended()) this.#push(chunk, eventName, json);
    return this.response.log.take();
  }

  /** Fast path: takes the JSON of a chunk. Returns null, and does nothing, if it must be parsed. */
  pushRawJson(json: string): ResponseStreamEvent[] | null {
    const text = this.ended() ? null : this.#template.match(json);
    return text !== null && this.#grow(this.#template.field, text) ? this.response.log.take() : null;
  }

  /**
   * Takes data that is not JSON. A chunk that was torn fails the stream: without it, the rest of a call would run. Other data is skipped,
   * and fails the stream where several pieces come in a row. Data with which the body ended (`isLast`) is left to `finish`.
   */
  malformed(text: string, isLast = false): ResponseStreamEvent[] {
    return this.#taken(() => {
      // No error has `choices`: data that names them was a chunk, however its beginning is damaged.
      const namesChoices = text.includes('"choices"');
      if (!namesChoices) this.#unread ??= findErrorInText(text, this.#context.profile.contextOverflow);
      const isTorn = !isLast && (namesChoices || beginsLikeJson.test(text));
      // After the finish reason of the only choice nothing follows that a client would act on.
      const isOver = this.finishReason !== null && !this.#parts.areSeveral;
      if (isTorn && !isOver) this.response.fail(this.#unread ?? ApiError.invalidUpstream(tornChunk));
      else this.#skip(text);
      this.#isTornAtEnd ||= isTorn;
    });
  }

  finish(reason: 'done' | 'eof'): ResponseStreamEvent[] {
    return this.#taken(() => this.#finish(reason));
  }

  /** Ends with `error` and `response.failed`. With `isShed`, when memory is low, the output is neither repeated nor kept. */
  fail(error: ApiError, isShed = false): ResponseStreamEvent[] {
    return this.#taken(() => (isShed ? this.response.shed(error) : this.response.fail(error)));
  }

  ended(): boolean {
    return this.response.status !== 'in_progress';
  }

  /** Bytes held for the terminal event, which repeats the whole output. */
  holds(): number {
    return this.#held.bytes;
  }

  summary(): StreamReport {
    return { ...this.response.report(this.finishReason, this.#unreadNames), events: this.response.log.count };
  }

  #taken(write: () => void): ResponseStreamEvent[] {
    if (!this.ended()) write();
    return this.response.log.take();
  }

  #push(value: unknown, eventName: string | null, json: string | undefined): void {
    const chunk = objectOf<LooseChunk>(value);
    if (chunk !== null && eventName === null && this.#pushFast(chunk, json)) return;
    const { contextOverflow } = this.#context.profile;
    const named = eventName === 'error' ? readErrorEvent(value, contextOverflow) : null;
    const error = findError(value, contextOverflow) ?? named;
    if (error === null && eventName?.includes(':') && chunk?.choices == null) {
      // An event of the provider's own (`acme:trace`): some SDKs throw on events that they do not know.
      if (!this.response.passEvent(eventName, chunk)) this.#unreadNames.addEvent(eventName);
      return;
    }
    if (chunk === null && error === null) {
      this.#skip(value);
      return;
    }
    this.response.start();
    this.#chunks += 1;
    this.#malformedInRow = 0;
    if (chunk !== null) this.#read(chunk);
    if (chunk?.choices == null) this.#unread ??= findErrorInWords(value, contextOverflow);
    if (error !== null && !this.ended()) this.response.fail(error);
  }

  #pushFast(chunk: LooseChunk, json: string | undefined): boolean {
    const isGeneral = this.response.model === null || this.#cumulative !== null;
    const delta = isGeneral ? null : this.#fastDelta(chunk);
    if (delta === null || !this.#grow(delta.field, delta.text)) {
      this.#template.forget();
      return false;
    }
    if (json !== undefined) this.#template.learn(json, delta.field, (other) => this.#fastDelta(other));
    return true;
  }

  #fastDelta(chunk: LooseChunk): FastDelta | null {
    return readFastDelta(chunk, this.#choiceIndex, this.response.serviceTier);
  }

  #grow(field: DeltaField, text: string): boolean {
    if (!this.response.output.grow(field, text)) return false;
    this.#chunks += 1;
    this.#malformedInRow = 0;
    return true;
  }

  #read(chunk: LooseChunk): void {
    const response = this.response;
    this.#unreadNames.addFields(chunk);
    const counts = findUsage(chunk);
    if (counts !== null) {
      // The joined counts are read anew: what contradicted itself in an earlier usage may be complete now.
      this.#counts = joinUsage(this.#counts, counts);
      response.repairs.delete('usage');
      response.usage = readUsage(this.#counts, this.#context.profile, response.repairs);
    }
    response.model ??= readWord(chunk.model) || null;
    response.serviceTier = readWord(chunk.service_tier) || response.serviceTier;
    const choices = readChoices(chunk);
    const keys = this.#parts.assignKeys(choices);
    if (this.#isTornAtEnd && this.#parts.areSeveral) response.fail(ApiError.invalidUpstream(tornChunk));
    // Decided before the first choice is read: the message of the second choice may have the calls.
    const isAnswered = response.output.hasMessageOrCall();
    for (const [position, choice] of choices.entries())
      if (!this.ended())
        this.#readChoice(choice, keys[position] ?? position, position === 0 ? chunk : null, isAnswered);
    const isPlain = !this.#parts.areSeveral && !this.#parts.mayBeNumbered();
    this.#choiceIndex = !isPlain ? several : choices.length === 1 ? choices[0]?.index : this.#choiceIndex;
    if (choices.length === 0) response.cite(readCitations(chunk, null));
  }

  #readChoice(choice: LooseChoice, key: number, chunk: LooseChunk | null, isAnswered: boolean): void {
    const response = this.response;
    const message = isAnswered ? null : findMessage(choice);
    const piece = objectOf<LooseMessage>(choice.delta);
    const given = message ?? (piece && this.#cumulative ? this.#cumulative.newIn(piece, key) : piece);
    const delta = given === null ? null : this.#parts.pickOwn(key, given);
    const reason = readFinishReason(choice);
    if (reason !== '' && this.#isReason(reason, key)) {
      this.finishReason = reason;
      this.#finished = key;
    }
    const citations = readCitations(chunk, delta);
    const logprobs = this.#context.wantsLogprobs && this.#parts.hasText(key) ? readLogprobs(choice.logprobs) : [];
    if (delta === null) response.cite(citations);
    else response.add(delta, { logprobs, citations, isLast: reason !== '', isMessage: message !== null });
  }

  /** The first reason stands, since gateways add others. An error replaces it, and so does a limit that cut another choice. */
  #isReason(reason: string, key: number): boolean {
    if (isErrorReason(reason)) return true;
    if (!this.#parts.isPart(key)) return false;
    return this.finishReason === null || (key !== this.#finished && isNormalEnd(this.finishReason));
  }

  /** Skips data, and sends nothing: an error may still become an HTTP status. Text that only repeats the last does not count again. */
  #skip(data: unknown): void {
    this.#malformed += 1;
    const keepAlive = typeof data === 'string' && data.length <= maxKeepAlive ? data : null;
    if (keepAlive === null || keepAlive !== this.#skipped) this.#malformedInRow += 1;
    this.#skipped = keepAlive;
    this.response.repairs.add('skipped_data');
    if (this.#malformedInRow >= maxMalformedInRow) this.response.fail(this.#invalid());
  }

  #finish(reason: 'done' | 'eof'): void {
    const { output } = this.response;
    this.response.start();
    try {
      if (this.finishReason === null) this.#checkEnd(reason);
      output.finish();
      if (this.#malformed > 0 && !output.hasAnswer()) throw this.#invalid();
      this.response.end(readOutcome(this.finishReason, output));
    } catch (thrown) {
      this.response.fail(ApiError.from(thrown));
    }
  }

  /** Throws `ApiError` where an end without a finish reason is a cut (choice D9): at the end of the body, or where data was no chunk. */
  #checkEnd(reason: 'done' | 'eof'): void {
    if (this.#chunks === 0 && (reason === 'eof' || this.#malformed > 0)) throw this.#invalid();
    if (this.#unread !== null) throw this.#unread;
    if (reason === 'eof') throw truncated();
    if (this.#malformed > 0) throw this.#invalid();
  }

  #invalid(): ApiError {
    return this.#unread ?? ApiError.invalidUpstream(notAStream);
  }
}

/** Finds the whole `message` that xAI and Bedrock proxies send at the end or alone. Beside a delta a message is what came so far. */
function findMessage({ delta, message }: LooseChoice): LooseMessage | null {
  const whole = objectOf<LooseMessage>(message);
  const partial = whole === null ? null : objectOf<LooseMessage>(delta);
  return partial === null || isEmptyDelta(partial) ? whole : null;
}

/**
 * Matches a line of data that begins like JSON, also behind a few damaged bytes. White space is matched within the line: across lines the
 * time would grow with the square of empty lines.
 */
const beginsLikeJson = /^[^\S\n\r\u2028\u2029]*(?:\{|\[[^\S\n\r\u2028\u2029]*\{|[^\s{]{1,3}\{[^\S\n\r\u2028\u2029]*")/m;

/** An index that no choice has, which turns the fast path off. */
const several = Symbol('several choices');

const tornChunk = 'The upstream’s stream contains invalid JSON. Part of the answer may be lost.';
const notAStream = 'The upstream answered with something that is not a Chat Completions stream.';
