import type { Buffer } from 'node:buffer';
import { checkMove, estimatedTokens } from '../../filter/index.ts';
import { GrowingBytes } from '../../formats/bytes/growing-bytes.ts';
import { SseDecoder, SseLimitError, type SseMessage } from '../../formats/sse/sse-decoder.ts';
import { type Conversation, conversationOf } from './conversations.ts';
import { errorMessage, type TurnError, turnError } from './errors.ts';
import { mediaBytesOf } from './media.ts';
import { parseRaw, readRawFields } from './raw-fields.ts';
import { RunningResponse } from './running-response.ts';
import { type EventFields, type RunningResource, readStreamEvent } from './stream-event.ts';
import { bodyOf, previousIdOf, readTurnRequest } from './turn-request.ts';
import { type TurnEvent, turnMoves } from './websocket-phases.ts';

/** How a turn ended: as its Response did, with an error message, or without any because the connection is gone. */
export type TurnOutcome = 'completed' | 'incomplete' | 'failed' | 'error' | 'aborted';

/** The receiver of the proxy's answer to a turn's `POST /v1/responses`, as it arrives. */
export type AnswerListener = Pick<Turn, 'headers' | 'body' | 'end' | 'broken'>;

interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
}

/** A turn's request in progress. */
export interface ForwardedTurn {
  /** Pauses and resumes reading the answer. */
  pause(): void;
  resume(): void;
  /** Ends it, and with it the upstream's work. */
  abort(): void;
}

/** Sends a turn's body to the proxy. `number` counts the connection's turns from 1. */
export type ForwardTurn = (body: readonly Buffer[], number: number, answer: AnswerListener) => ForwardedTurn;

export interface TurnLimits {
  readonly maxEventBytes: number;
  readonly maxErrorBytes: number;
  /** Maximum JSON values of a message that is parsed here rather than passed on. */
  readonly maxValues: number;
}

/** The turns' dependencies on their connection. */
export interface TurnHost {
  readonly limits: TurnLimits;
  readonly forward: ForwardTurn;
  send(text: string): void;
  find(responseId: string): Conversation | null;
  /** The turn's response can be continued. */
  keep(turn: Turn, conversation: Conversation): void;
  /** The response that a turn named can no longer be continued; nothing happens if it named none. */
  evict(responseId: string | null): void;
  /** Counts so many bytes more, or fewer if negative; of them, `untaken` are of a message that the proxy has not taken. */
  hold(bytes: number, untaken: number): void;
  /** The proxy was not asked. Called before `ended`. */
  refused(error: TurnError, message: Buffer, turn: number): void;
  /** The proxy's answer has ended, or there is none. */
  answerEnded(turn: Turn): void;
  /** The turn has ended. Called once. */
  ended(turn: Turn, outcome: TurnOutcome): void;
}

/** Memory in bytes of a connection to the proxy that carries a turn. */
const proxyConnectionBytes = 40 * 1024;

/** Events that end a turn. */
const terminal: ReadonlyMap<string, TurnOutcome> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
]);

/** A request that the proxy was asked, as the turn keeps it until it has ended. */
interface Asked {
  readonly message: Buffer;
  readonly previousId: string | null;
  readonly previous: Conversation | null;
  readonly input: Buffer | null;
  /** Bytes of the request to the proxy. */
  readonly bodyBytes: number;
}

interface Streaming extends Asked {
  readonly phase: 'streaming';
  readonly decoder: SseDecoder;
  readonly response: RunningResponse;
  /** The `error` event of the stream: the `response.failed` that follows says the same, and a turn has one end. */
  errorEvent: string | null;
}

/** The answer is an error: its body so far, which is cut if it is long. */
interface ReadingError extends Asked {
  readonly phase: 'reading_error';
  readonly head: AnswerHead;
  readonly bytes: GrowingBytes;
}

/** The data of the turn in each phase; `message` is the client's, as it came. */
type TurnState =
  | { readonly phase: 'waiting'; readonly message: Buffer }
  | (Asked & { readonly phase: 'requesting' })
  | Streaming
  | ReadingError
  | { readonly phase: 'ended' };

/** One `response.create` of a connection, from its message to the last event of its response. */
export class Turn {
  readonly streamId: string | null;
  readonly number: number;
  /** Null unless the proxy's answer has not ended, though the client may have been sent all of it. */
  forwarded: ForwardedTurn | null = null;
  readonly #host: TurnHost;
  /** Bytes that are counted until the turn ends, and those of its message until the proxy has it. */
  #held: number;
  #untaken: number;
  #state: TurnState;

  /** `message` is counted already. */
  constructor(message: Buffer, streamId: string | null, number: number, host: TurnHost) {
    this.streamId = streamId;
    this.number = number;
    this.#host = host;
    this.#held = message.length;
    this.#untaken = message.length;
    this.#state = { phase: 'waiting', message };
  }

  /** The client's message as it came; null once the turn has ended, though the proxy may go on with the answer. */
  get message(): Buffer | null {
    return 'message' in this.#state ? this.#state.message : null;
  }

  /** The lane is free: decodes the request, and asks the proxy. */
  start(): void {
    const state = this.#state;
    if (state.phase !== 'waiting') {
      this.#move('start', state);
      return;
    }
    const { message } = state;
    // It was read when it came.
    const fields = readRawFields(message, this.#host.limits.maxValues) ?? new Map<string, Buffer>();
    const previousId = previousIdOf(fields);
    const request = readTurnRequest(fields, (id) => this.#host.find(id), this.#host.limits.maxValues);
    if ('status' in request) {
      this.#host.refused(request, message, this.number);
      this.#refuse('start', request, previousId);
      return;
    }
    const { previous, input } = request;
    const body = bodyOf(request);
    const bodyBytes = body.reduce((sum, { length }) => sum + length, 0);
    this.#move('start', { phase: 'requesting', message, previousId, previous, input, bodyBytes });
    this.#hold(proxyConnectionBytes);
    const forwarded = this.#host.forward(body, this.number, this);
    // It may have failed at once.
    if (!this.#isOver()) this.forwarded = forwarded;
  }

  headers(head: AnswerHead): void {
    this.#taken();
    const state = this.#state;
    if (state.phase !== 'requesting') this.#move('answer_headers', state);
    else if (head.status === 200 && head.contentType.startsWith('text/event-stream')) {
      const decoder = new SseDecoder({ maxEventBytes: this.#host.limits.maxEventBytes });
      const response = new RunningResponse();
      this.#move('answer_headers', { ...state, phase: 'streaming', decoder, response, errorEvent: null });
    } else this.#move('answer_headers', { ...state, phase: 'reading_error', head, bytes: new GrowingBytes() });
  }

  body(bytes: Buffer): void {
    const state = this.#state;
    if (state.phase === 'streaming') this.#events(state, () => state.decoder.push(bytes));
    else if (state.phase === 'reading_error') {
      // A longer one is cut; its status is informative enough.
      if (state.bytes.length + bytes.length > this.#host.limits.maxErrorBytes) return;
      state.bytes.append(bytes);
      this.#hold(bytes.length);
    } else this.#move('answer_body', { phase: 'ended' });
  }

  /** The body is complete. */
  end(): void {
    const state = this.#state;
    this.#answerEnded();
    if (state.phase === 'streaming') this.#events(state, () => state.decoder.finish(), true);
    this.#endEarly(
      'answer_end',
      state.phase === 'reading_error' ? errorOfAnswer(state, this.#host.limits.maxValues) : truncated,
    );
  }

  /** There is no answer, or it is incomplete. */
  broken(reason: string): void {
    const unanswered = turnError(502, 'upstream_unavailable', `The gateway did not answer: ${reason}.`);
    this.#answerEnded();
    this.#endEarly('broken', this.#state.phase === 'requesting' ? unanswered : truncated);
  }

  #answerEnded(): void {
    this.forwarded = null;
    this.#host.answerEnded(this);
  }

  /** The answer is over: with this error, if it has neither a terminal event nor an error of its own. */
  #endEarly(event: TurnEvent, error: TurnError): void {
    const state = this.#state;
    if (state.phase === 'ended') this.#move(event, state);
    else if (state.phase === 'streaming' && state.errorEvent !== null) {
      this.#host.send(state.errorEvent);
      this.#finish(event, 'failed');
    } else this.#refuse(event, error, 'previousId' in state ? state.previousId : null);
  }

  /** The connection is gone, or ends before this turn's time came: `error` is for the client that still listens. */
  cancel(error: TurnError | null): void {
    const { forwarded } = this;
    this.forwarded = null;
    const state = this.#state;
    if (state.phase !== 'ended') {
      if (error !== null) this.#host.send(errorMessage(error, this.streamId));
      if (error !== null && state.phase === 'waiting') this.#host.refused(error, state.message, this.number);
      this.#finish('cancel', error === null ? 'aborted' : 'error');
    }
    forwarded?.abort();
  }

  /** Ends its response, if that is the one that runs, with what is finished of it. */
  interrupt(responseId: string): void {
    const state = this.#state;
    if (state.phase !== 'streaming' || state.response.id !== responseId) return;
    this.#abortForwarded();
    // The error that was held is told no more: the client has ended the response itself.
    state.errorEvent = null;
    const { events, last } = state.response.interrupt(inputTokensOf(state));
    for (const event of events) this.#send(event, JSON.stringify(event));
    this.#responseEvent(state, last, JSON.stringify(last));
  }

  #events(state: Streaming, read: () => SseMessage[], isEnd = false): void {
    let messages: SseMessage[];
    try {
      messages = read();
    } catch (error) {
      if (!(error instanceof SseLimitError)) throw error;
      this.#abortForwarded();
      this.#refuse('answer_body', turnError(502, 'upstream_event_too_large', error.message), state.previousId);
      return;
    }
    for (const message of messages)
      if (message.type === 'event' && !this.#isOver()) this.#event(state, message.data, isEnd);
  }

  /** `isEnd`: what lacks its blank line may be half an event, cut by a reset. */
  #event(state: Streaming, data: string, isEnd: boolean): void {
    if (data === '[DONE]') return;
    const event = readStreamEvent(data, this.#host.limits.maxValues);
    if (event === null) {
      if (isEnd) return;
      this.#abortForwarded();
      this.#refuse('answer_body', notEvents, state.previousId);
      return;
    }
    if (event.kind === 'error') {
      this.#hold(data.length);
      state.errorEvent = this.#withLane(event.fields, data);
      return;
    }
    this.#hold(state.response.push(event, data));
    // A delta's text is forwarded unchanged.
    if (event.kind === 'response') this.#responseEvent(state, event.fields, data);
    else this.#send(event.fields, data);
  }

  #responseEvent(
    { previousId, previous, input, errorEvent }: Streaming,
    event: EventFields & { readonly response: RunningResource },
    data: string,
  ): void {
    const { type, sequence_number, response } = event;
    // The proxy was sent the whole conversation: only this side knows that it is a continuation.
    const continued = { ...event, response: { ...response, previous_response_id: previousId } };
    // It takes the number of the error that is left out.
    if (errorEvent !== null && typeof sequence_number === 'number') continued.sequence_number = sequence_number - 1;
    if (previousId === null && errorEvent === null) this.#send(event, data);
    else this.#send(continued, JSON.stringify(continued));
    const outcome = terminal.get(type);
    if (outcome === undefined) return;
    if (outcome !== 'failed') {
      const kept = conversationOf(response.id, previous, input, response.output);
      if (kept !== null) this.#host.keep(this, kept);
    }
    this.#finish('answer_body', outcome);
  }

  #send(fields: EventFields, data: string): void {
    this.#host.send(this.#withLane(fields, data));
  }

  /** An event's JSON, with the lane's id as its last field. Its server may have named one, and put white space behind it. */
  #withLane(fields: EventFields, data: string): string {
    const stream_id = this.streamId;
    if (stream_id === null) return data;
    if (fields.stream_id !== undefined || !data.endsWith('}')) return JSON.stringify({ ...fields, stream_id });
    return `${data.slice(0, -1)},"stream_id":${JSON.stringify(stream_id)}}`;
  }

  /** Ends the turn with an error message. A response whose continuation failed can no longer be continued. */
  #refuse(event: TurnEvent, error: TurnError, previousId: string | null): void {
    this.#host.send(errorMessage(error, this.streamId));
    this.#host.evict(previousId);
    this.#finish(event, 'error');
  }

  #finish(event: TurnEvent, outcome: TurnOutcome): void {
    this.#move(event, { phase: 'ended' });
    this.#taken();
    this.#host.hold(-this.#held, 0);
    this.#host.ended(this, outcome);
  }

  /** So many bytes more are kept until the turn ends. */
  #hold(bytes: number): void {
    this.#held += bytes;
    if (bytes > 0) this.#host.hold(bytes, 0);
  }

  /** The proxy has all of the request. */
  #taken(): void {
    this.#host.hold(0, -this.#untaken);
    this.#untaken = 0;
  }

  #abortForwarded(): void {
    this.forwarded?.abort();
    this.forwarded = null;
  }

  #isOver(): boolean {
    return this.#state.phase === 'ended';
  }

  #move(event: TurnEvent, to: TurnState): void {
    checkMove(turnMoves, this.#state.phase, event, to.phase);
    this.#state = to;
  }
}

/** Tokens of the request, estimated. */
function inputTokensOf({ previous, input, bodyBytes }: Asked): number {
  const items = [...(previous?.items ?? []), ...(input === null ? [] : [input])];
  return estimatedTokens(bodyBytes, items.flatMap(mediaBytesOf));
}

function errorOfAnswer({ head, bytes }: ReadingError, maxValues: number): TurnError {
  const { status, contentType, retryAfter } = head;
  if (status === 200) return notEvents;
  const error = readError(contentType, bytes.whole(), maxValues) ?? {
    type: status >= 500 ? 'server_error' : 'invalid_request',
    code: `http_${status}`,
    param: null,
    message: `The gateway answered with status ${status}.`,
  };
  return { status, error, ...(retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } }) };
}

const truncated = turnError(502, 'upstream_stream_truncated', 'The stream of the response ended early.');
const notEvents = turnError(502, 'invalid_upstream_response', 'The gateway’s answer is not a stream of events.');

/** The error object of a body `{"error": {…}}`, or null. */
function readError(contentType: string, body: Buffer, maxValues: number): Readonly<Record<string, unknown>> | null {
  if (!contentType.includes('json')) return null;
  try {
    const { error } = parseRaw(body, maxValues) as { error?: unknown };
    return typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
