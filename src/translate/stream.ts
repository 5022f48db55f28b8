import { ApiError } from '../schema/api-error.ts';
import { choiceOf, type Loose, objectOf, textOf } from '../schema/chat-completion.ts';
import type { Logprob, ResponseStatus, Usage } from '../schema/response-resource.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import { citationsOf } from './citations.ts';
import type { ResponseContext } from './context.ts';
import { errorOfValue } from './error.ts';
import { outcomeOf } from './finish.ts';
import { logprobsOf } from './logprobs.ts';
import { resourceOf } from './resource.ts';
import { createAnswerWriter } from './stream/answer-writer.ts';
import { createEventLog } from './stream/event-log.ts';
import { emitFailure } from './stream/failure.ts';
import { createTextTemplate, plainTextOf } from './stream/plain-text.ts';
import { usageOf } from './usage.ts';

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
  pushText(json: string): ResponseStreamEvent[] | null;
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
  const id = context.newId('resp');
  const log = createEventLog(context);
  const writer = createAnswerWriter(log, context);
  const template = createTextTemplate();
  let status: ResponseStatus = 'in_progress';
  let started = false;
  let failure: ApiError | null = null;
  let usage: Usage | null = null;
  let model: string | null = null;
  let serviceTier: string | null = null;
  let finishReason: string | null = null;
  let choiceIndex: unknown;
  let chunks = 0;
  let malformed = 0;
  let malformedInRow = 0;

  function resource(incompleteReason: 'max_output_tokens' | 'content_filter' | null) {
    const output = status === 'in_progress' ? [] : writer.items();
    return resourceOf(context, {
      id,
      status,
      output,
      usage,
      model,
      serviceTier,
      error: failure,
      incompleteReason,
    });
  }

  function start(): void {
    if (started) return;
    started = true;
    log.emit({ type: 'response.created', response: resource(null) });
    log.emit({ type: 'response.in_progress', response: resource(null) });
  }

  function end(outcome: 'completed' | 'incomplete', reason: 'max_output_tokens' | 'content_filter' | null): void {
    writer.close(outcome);
    status = outcome;
    log.emit({ type: `response.${outcome}`, response: resource(reason) });
  }

  function fail(error: ApiError): void {
    writer.close('incomplete');
    status = 'failed';
    failure = error;
    emitFailure(log, error, resource(null));
  }

  function finish(reason: 'done' | 'eof'): void {
    const error = missingEnd(reason) ?? writer.finish();
    const outcome = error === null ? outcomeOf(finishReason) : { status: 'failed' as const, error };
    switch (outcome.status) {
      case 'failed':
        fail(outcome.error);
        break;
      case 'incomplete':
        end('incomplete', outcome.reason);
        break;
      case 'completed':
        writer.ensureOutput();
        end('completed', null);
        break;
    }
  }

  /** `[DONE]` without a `finish_reason` is an end; the end of the bytes without either is a cut (decision D9). */
  function missingEnd(reason: 'done' | 'eof'): ApiError | null {
    if (chunks === 0 && (reason === 'eof' || malformed > 0)) return invalidResponse();
    return reason === 'eof' && finishReason === null ? truncated() : null;
  }

  /** The short way for nearly all chunks of a stream. False: it must be read in full. */
  function addPlainText(chunk: Loose, json: string | undefined): boolean {
    const text = model === null ? null : plainText(chunk);
    if (text === null || !addText(text)) {
      template.forget();
      return false;
    }
    if (json !== undefined) template.learn(json, text, plainText);
    return true;
  }

  function plainText(chunk: Loose): string | null {
    return plainTextOf(chunk, choiceIndex, serviceTier);
  }

  function addText(text: string): boolean {
    if (!writer.addText(text)) return false;
    chunks += 1;
    malformedInRow = 0;
    return true;
  }

  function read(chunk: Loose): void {
    usage = usageOf(chunk, context.profile) ?? usage;
    model ??= textOf(chunk['model']) || null;
    serviceTier = textOf(chunk['service_tier']) || serviceTier;
    const choice = chosen(chunk);
    const delta = choice === null ? null : deltaOf(choice);
    const reason = textOf(choice?.['finish_reason']);
    // The first reason stands; gateways add others. Only an error is worse news.
    if (reason !== '' && (finishReason === null || reason.toLowerCase() === 'error')) finishReason = reason;
    const citations = citationsOf(chunk, delta);
    if (delta === null) {
      if (citations.length > 0) writer.cite(citations);
      return;
    }
    const logprobs = context.wantsLogprobs ? logprobsOf(choice?.['logprobs']) : noLogprobs;
    const error = writer.add(delta, { logprobs, citations, isLast: reason !== '' });
    if (error !== null) fail(error);
  }

  /** Always the choice of the same index, 0 nearly always: others would be further answers to the same question. */
  function chosen(chunk: Loose): Loose | null {
    const choice = choiceOf(chunk, 'alone');
    const index = choice?.['index'];
    if (choice === null || typeof index !== 'number') return choice;
    choiceIndex ??= index;
    return index === choiceIndex ? choice : null;
  }

  /** Some servers (xAI, Bedrock proxies) give a whole `message` at the end, or instead of all deltas. */
  function deltaOf(choice: Loose): Loose | null {
    return objectOf(choice['delta']) ?? (writer.isEmpty() ? objectOf(choice['message']) : null);
  }

  function push(value: unknown, eventName: string | null, json: string | undefined): void {
    start();
    const chunk = objectOf(value);
    if (chunk !== null && eventName === null && addPlainText(chunk, json)) return;
    const error = errorOfValue(value) ?? (eventName === 'error' ? errorOfValue({ error: value }) : null);
    if (chunk === null && error === null) {
      skip();
      return;
    }
    chunks += 1;
    malformedInRow = 0;
    if (chunk !== null) read(chunk);
    if (error !== null && status === 'in_progress') fail(error);
  }

  function skip(): void {
    start();
    malformed += 1;
    malformedInRow += 1;
    if (malformedInRow === MAX_MALFORMED) fail(invalidResponse());
  }

  /** Runs one step, unless the stream has ended; gives the events it caused. */
  function step(act: () => void): ResponseStreamEvent[] {
    if (status !== 'in_progress') return [];
    act();
    return log.take();
  }

  return {
    start: () => step(start),
    push(chunk, eventName = null, json) {
      if (status !== 'in_progress') return [];
      push(chunk, eventName, json);
      return log.take();
    },
    pushText(json) {
      const text = status === 'in_progress' ? template.match(json) : null;
      return text !== null && addText(text) ? log.take() : null;
    },
    malformed: () => step(skip),
    finish: (reason) =>
      step(() => {
        start();
        finish(reason);
      }),
    fail: (error) =>
      step(() => {
        start();
        fail(error);
      }),
    ended() {
      return status !== 'in_progress';
    },
    finishSeen() {
      return finishReason !== null;
    },
    failure() {
      return failure;
    },
    usage() {
      return usage;
    },
    written() {
      return log.written();
    },
    summary() {
      return { status, finishReason, events: log.count(), model, malformed, nameless: writer.nameless() };
    },
  };
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
