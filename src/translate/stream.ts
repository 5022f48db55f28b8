import { ApiError } from '../schema/api-error.ts';
import { choiceOf, type Loose, objectOf, textOf } from '../schema/chat-completion.ts';
import type { Logprob, ResponseStatus, Usage } from '../schema/response-resource.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import { citationsOf } from './chat/citations.ts';
import { createDeltaTemplate } from './chat/delta-template.ts';
import { type DeltaField, type FastDelta, fastDeltaOf } from './chat/fast-delta.ts';
import { outcomeOf } from './chat/finish.ts';
import { logprobsOf } from './chat/logprobs.ts';
import { usageOf } from './chat/usage.ts';
import type { ResponseContext } from './context.ts';
import { errorOfValue } from './error.ts';
import { createEventLog, type EventLog } from './response/event-log.ts';
import { emitFailure } from './response/failure.ts';
import { createOutputWriter, type OutputWriter } from './response/output-writer.ts';
import { resourceOf } from './response/resource.ts';

/** What a log line wants to know of a stream. */
export interface StreamSummary {
  readonly status: ResponseStatus;
  readonly finishReason: string | null;
  /** Events sent. */
  readonly events: number;
  /** The upstream's name for the model, or null. */
  readonly model: string | null;
  /** Data that was not JSON and was skipped. */
  readonly malformed: number;
  /** Tool calls left out because they had no name. */
  readonly nameless: number;
}

/**
 * Chat Completions chunks in, Responses events out. After the terminal event every call gives none. Nothing an upstream
 * sends makes it throw: each oddity has a rule in `docs/answers.md` §3 and a case in `test/golden/stream-*.md`.
 */
export interface StreamTranslator {
  /** `response.created` and `response.in_progress`, once; the other calls make them come first by themselves. */
  start(): ResponseStreamEvent[];
  /**
   * One JSON value of the upstream's stream, and the name its event had. With the text it was parsed from, `pushText` may
   * know the next one like it.
   */
  push(chunk: unknown, eventName?: string | null, json?: string): ResponseStreamEvent[];
  /** The same for the JSON text of a chunk, where it need not be parsed; null, and nothing is done, where it must be. */
  pushRawJson(json: string): ResponseStreamEvent[] | null;
  /** Data that is not JSON: skipped, but not for ever. */
  malformed(): ResponseStreamEvent[];
  /** `[DONE]`, or the end of the body. */
  finish(reason: 'done' | 'eof'): ResponseStreamEvent[];
  /** Ends with `error` and `response.failed`; what was produced is kept. */
  fail(error: ApiError): ResponseStreamEvent[];
  /** The terminal event was given. */
  ended(): boolean;
  /** A `finish_reason` came: only usage can still follow. */
  finishSeen(): boolean;
  failure(): ApiError | null;
  usage(): Usage | null;
  /** Characters of output so far, all of them kept for the terminal event. */
  written(): number;
  summary(): StreamSummary;
}

/** Data in a row that may be no JSON before the upstream is given up. */
const MAX_MALFORMED = 3;

/** A translator for one answer. */
export function createStreamTranslator(context: ResponseContext): StreamTranslator {
  return new ChunkTranslator(context);
}

/** A class, because there is one for each live stream: objects of a class share their methods, closures are made anew. */
class ChunkTranslator implements StreamTranslator {
  readonly #context: ResponseContext;
  readonly #id: string;
  readonly #log: EventLog;
  readonly #writer: OutputWriter;
  readonly #template = createDeltaTemplate();
  #status: ResponseStatus = 'in_progress';
  #started = false;
  #failure: ApiError | null = null;
  #usage: Usage | null = null;
  #model: string | null = null;
  #serviceTier: string | null = null;
  #finishReason: string | null = null;
  #choiceIndex: unknown;
  #chunks = 0;
  #malformed = 0;
  #malformedInRow = 0;

  constructor(context: ResponseContext) {
    this.#context = context;
    this.#id = context.newId('resp');
    this.#log = createEventLog(context);
    this.#writer = createOutputWriter(this.#log, context);
  }

  start(): ResponseStreamEvent[] {
    if (this.ended()) return [];
    this.#start();
    return this.#log.take();
  }

  push(chunk: unknown, eventName: string | null = null, json?: string): ResponseStreamEvent[] {
    if (this.ended()) return [];
    this.#push(chunk, eventName, json);
    return this.#log.take();
  }

  pushRawJson(json: string): ResponseStreamEvent[] | null {
    const text = this.ended() ? null : this.#template.match(json);
    return text !== null && this.#grow(this.#template.field(), text) ? this.#log.take() : null;
  }

  malformed(): ResponseStreamEvent[] {
    if (this.ended()) return [];
    this.#skip();
    return this.#log.take();
  }

  finish(reason: 'done' | 'eof'): ResponseStreamEvent[] {
    if (this.ended()) return [];
    this.#start();
    this.#finish(reason);
    return this.#log.take();
  }

  fail(error: ApiError): ResponseStreamEvent[] {
    if (this.ended()) return [];
    this.#start();
    this.#fail(error);
    return this.#log.take();
  }

  ended(): boolean {
    return this.#status !== 'in_progress';
  }

  finishSeen(): boolean {
    return this.#finishReason !== null;
  }

  failure(): ApiError | null {
    return this.#failure;
  }

  usage(): Usage | null {
    return this.#usage;
  }

  written(): number {
    return this.#log.written();
  }

  summary(): StreamSummary {
    return {
      status: this.#status,
      finishReason: this.#finishReason,
      events: this.#log.count(),
      model: this.#model,
      malformed: this.#malformed,
      nameless: this.#writer.nameless(),
    };
  }

  #resource(incompleteReason: 'max_output_tokens' | 'content_filter' | null) {
    return resourceOf(this.#context, {
      id: this.#id,
      status: this.#status,
      output: this.ended() ? this.#writer.items() : [],
      usage: this.#usage,
      model: this.#model,
      serviceTier: this.#serviceTier,
      error: this.#failure,
      incompleteReason,
    });
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#log.emit({ type: 'response.created', response: this.#resource(null) });
    this.#log.emit({ type: 'response.in_progress', response: this.#resource(null) });
  }

  #push(value: unknown, eventName: string | null, json: string | undefined): void {
    this.#start();
    const chunk = objectOf(value);
    if (chunk !== null && eventName === null && this.#pushFast(chunk, json)) return;
    const error = errorOfValue(value) ?? (eventName === 'error' ? errorOfValue({ error: value }) : null);
    if (chunk === null && error === null) {
      this.#skip();
      return;
    }
    this.#chunks += 1;
    this.#malformedInRow = 0;
    if (chunk !== null) this.#read(chunk);
    if (error !== null && !this.ended()) this.#fail(error);
  }

  /** The short way for nearly all chunks of a stream. False: it must be read in full. */
  #pushFast(chunk: Loose, json: string | undefined): boolean {
    const delta = this.#model === null ? null : this.#fastDelta(chunk);
    if (delta === null || !this.#grow(delta.field, delta.text)) {
      this.#template.forget();
      return false;
    }
    if (json !== undefined) this.#template.learn(json, delta.field, (other) => this.#fastDelta(other));
    return true;
  }

  #fastDelta(chunk: Loose): FastDelta | null {
    return fastDeltaOf(chunk, this.#choiceIndex, this.#serviceTier);
  }

  #grow(field: DeltaField, text: string): boolean {
    if (!this.#writer.grow(field, text)) return false;
    this.#chunks += 1;
    this.#malformedInRow = 0;
    return true;
  }

  #read(chunk: Loose): void {
    this.#usage = usageOf(chunk, this.#context.profile) ?? this.#usage;
    this.#model ??= textOf(chunk['model']) || null;
    this.#serviceTier = textOf(chunk['service_tier']) || this.#serviceTier;
    const choice = this.#chosen(chunk);
    const delta = choice === null ? null : this.#deltaOf(choice);
    const reason = textOf(choice?.['finish_reason']);
    // The first reason stands; gateways add others. Only an error is worse news.
    if (reason !== '' && (this.#finishReason === null || reason.toLowerCase() === 'error')) this.#finishReason = reason;
    const citations = citationsOf(chunk, delta);
    if (delta === null) {
      if (citations.length > 0) this.#writer.cite(citations);
      return;
    }
    const logprobs = this.#context.wantsLogprobs ? logprobsOf(choice?.['logprobs']) : noLogprobs;
    const error = this.#writer.add(delta, { logprobs, citations, isLast: reason !== '' });
    if (error !== null) this.#fail(error);
  }

  /** Always the choice of the same index, 0 nearly always: others would be further answers to the same question. */
  #chosen(chunk: Loose): Loose | null {
    const choice = choiceOf(chunk, 'alone');
    const index = choice?.['index'];
    if (choice === null || typeof index !== 'number') return choice;
    this.#choiceIndex ??= index;
    return index === this.#choiceIndex ? choice : null;
  }

  /** Some servers (xAI, Bedrock proxies) give a whole `message` at the end, or instead of all deltas. */
  #deltaOf(choice: Loose): Loose | null {
    return objectOf(choice['delta']) ?? (this.#writer.isEmpty() ? objectOf(choice['message']) : null);
  }

  #skip(): void {
    this.#start();
    this.#malformed += 1;
    this.#malformedInRow += 1;
    if (this.#malformedInRow === MAX_MALFORMED) this.#fail(invalidResponse());
  }

  #finish(reason: 'done' | 'eof'): void {
    const error = this.#missingEnd(reason) ?? this.#writer.finish();
    const outcome = error === null ? outcomeOf(this.#finishReason) : { status: 'failed' as const, error };
    switch (outcome.status) {
      case 'failed':
        this.#fail(outcome.error);
        break;
      case 'incomplete':
        this.#end('incomplete', outcome.reason);
        break;
      case 'completed':
        this.#writer.ensureOutput();
        this.#end('completed', null);
        break;
    }
  }

  /** `[DONE]` without a `finish_reason` is an end; the end of the bytes without either is a cut (decision D9). */
  #missingEnd(reason: 'done' | 'eof'): ApiError | null {
    if (this.#chunks === 0 && (reason === 'eof' || this.#malformed > 0)) return invalidResponse();
    return reason === 'eof' && this.#finishReason === null ? truncated() : null;
  }

  #end(outcome: 'completed' | 'incomplete', reason: 'max_output_tokens' | 'content_filter' | null): void {
    this.#writer.close(outcome);
    this.#status = outcome;
    this.#log.emit({ type: `response.${outcome}`, response: this.#resource(reason) });
  }

  #fail(error: ApiError): void {
    this.#writer.close('incomplete');
    this.#status = 'failed';
    this.#failure = error;
    emitFailure(this.#log, error, this.#resource(null));
  }
}

const noLogprobs: readonly Logprob[] = [];

function invalidResponse(): ApiError {
  return new ApiError('The upstream answered with something that is not a Chat Completions stream.', {
    status: 502,
    type: 'server_error',
    code: 'invalid_upstream_response',
  });
}

function truncated(): ApiError {
  return new ApiError('The upstream ended the stream before the answer was complete.', {
    status: 502,
    type: 'server_error',
    code: 'upstream_stream_truncated',
  });
}
