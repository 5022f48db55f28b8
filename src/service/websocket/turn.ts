import type { Buffer } from 'node:buffer';
import { checkMove } from '../../filter/index.ts';
import { GrowingBytes } from '../../formats/bytes/growing-bytes.ts';
import { objectOf } from '../../formats/json/loose.ts';
import { SseDecoder, SseLimitError, type SseMessage } from '../../formats/sse/sse-decoder.ts';
import { type Conversation, continueConversation } from './conversations.ts';
import { encodeErrorMessage, type TurnError, turnError } from './errors.ts';
import { readJson, readRawFields } from './raw-fields.ts';
import { RunningResponse } from './running-response.ts';
import { type EventFields, type ResourceEvent, readStreamEvent } from './stream-event.ts';
import { estimateInputTokens, parseTurnRequest, readPreviousId, writeBody } from './turn-request.ts';
import { type TurnEvent, turnMoves } from './websocket-phases.ts';

/** How a turn ended: as its Response did, with an error message, or with nothing because the connection is gone. */
export type TurnOutcome = 'completed' | 'incomplete' | 'failed' | 'error' | 'aborted';

/** Receives the proxy's answer to a turn's `POST /v1/responses` as it arrives. */
export type AnswerListener = Pick<Turn, 'headers' | 'body' | 'end' | 'broken'>;

interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
}

/** A turn's request to the proxy, until its answer has ended. */
export interface ForwardedTurn {
  pause(): void;
  resume(): void;
  /** Ends the request, and with it the upstream's work. */
  abort(): void;
}

/** Sends a turn's body to the proxy. `number` counts the connection's turns from 1. */
export type ForwardTurn = (body: readonly Buffer[], number: number, answer: AnswerListener) => ForwardedTurn;

export interface TurnLimits {
  readonly maxEventBytes: number;
  readonly maxErrorBytes: number;
  /** Maximum JSON values of what is parsed and not only passed on. */
  readonly maxValues: number;
}

export interface TurnSocket {
  readonly limits: TurnLimits;
  send(text: string): void;
  /** Adds `bytes` to the memory that is counted, `untaken` of them for a message that the proxy has not taken. Both may be negative. */
  hold(bytes: number, untaken: number): unknown;
  /** Called with the error of a message for which the proxy was not asked, and the number of its turn if it has become one. */
  refused(error: TurnError, message: Buffer | null, turn: number | null): void;
}

export interface TurnHost {
  readonly socket: TurnSocket;
  readonly forward: ForwardTurn;
  findConversation(responseId: string): Conversation | null;
  /** Keeps the conversation that the next turn of this turn's lane may continue. */
  keep(turn: Turn, conversation: Conversation): void;
  /** Forgets the conversation after a response. */
  evict(responseId: string | null): void;
  /** Called when the proxy's answer has ended, or if there is none. */
  answerEnded(turn: Turn): void;
  /** Called once for each turn. */
  ended(turn: Turn, outcome: TurnOutcome): void;
}

/** Bytes that a connection to the proxy takes for a turn. */
const proxyConnectionBytes = 40 * 1024;

const terminal: ReadonlyMap<string, TurnOutcome> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
]);

/** What a turn keeps of its request from the time when the proxy is asked. */
interface Asked {
  readonly message: Buffer;
  readonly previous: Conversation | null;
  readonly input: Buffer | null;
  readonly bodyBytes: number;
}

interface Streaming extends Asked {
  readonly phase: 'streaming';
  readonly decoder: SseDecoder;
  readonly response: RunningResponse;
  /** The stream's `error` event, held back because a turn has one end, and the `response.failed` after it says the same. */
  errorEvent: string | null;
}

interface ReadingError extends Asked {
  readonly phase: 'reading_error';
  readonly head: AnswerHead;
  readonly bytes: GrowingBytes;
}

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
  /** The request to the proxy. It may go on after the turn, until the proxy's answer has ended. */
  forwarded: ForwardedTurn | null = null;
  readonly #host: TurnHost;
  readonly #socket: TurnSocket;
  /** Bytes that are counted until the turn ends. */
  #held: number;
  /** Bytes of the message, which are counted as untaken until the proxy has it. */
  #untaken: number;
  /** The response that the request continues. */
  #previousId: string | null = null;
  #state: TurnState;

  /** The connection has counted the bytes of `message`. */
  constructor(message: Buffer, streamId: string | null, number: number, host: TurnHost) {
    this.streamId = streamId;
    this.number = number;
    this.#host = host;
    this.#socket = host.socket;
    this.#held = message.length;
    this.#untaken = message.length;
    this.#state = { phase: 'waiting', message };
  }

  /** The client's message, unchanged; null once the turn has ended. */
  get message(): Buffer | null {
    return 'message' in this.#state ? this.#state.message : null;
  }

  /** Parses the request and asks the proxy. Called when the turn's lane is free. */
  start(): void {
    const state = this.#state;
    if (state.phase !== 'waiting') {
      this.#move('start', state);
      return;
    }
    const { message } = state;
    // The connection has refused a message that is no object.
    const fields = readRawFields(message, this.#socket.limits.maxValues) ?? new Map<string, Buffer>();
    this.#previousId = readPreviousId(fields);
    const found = this.#previousId === null ? null : this.#host.findConversation(this.#previousId);
    const request = parseTurnRequest(fields, found, this.#socket.limits.maxValues);
    if ('status' in request) {
      this.#socket.refused(request, message, this.number);
      this.#refuse('start', request);
      return;
    }
    const { previous, input } = request;
    const body = writeBody(request);
    const bodyBytes = body.reduce((sum, { length }) => sum + length, 0);
    this.#move('start', { phase: 'requesting', message, previous, input, bodyBytes });
    this.#hold(proxyConnectionBytes);
    const forwarded = this.#host.forward(body, this.number, this);
    // The request may have failed at once.
    if (this.#state.phase !== 'ended') this.forwarded = forwarded;
  }

  headers(head: AnswerHead): void {
    this.#releaseUntaken();
    const state = this.#state;
    if (state.phase !== 'requesting') this.#move('answer_headers', state);
    else if (head.status === 200 && head.contentType.startsWith('text/event-stream')) {
      const decoder = new SseDecoder({ maxEventBytes: this.#socket.limits.maxEventBytes });
      const response = new RunningResponse();
      this.#move('answer_headers', { ...state, phase: 'streaming', decoder, response, errorEvent: null });
    } else this.#move('answer_headers', { ...state, phase: 'reading_error', head, bytes: new GrowingBytes() });
  }

  body(bytes: Buffer): void {
    const state = this.#state;
    if (state.phase === 'streaming') this.#readEvents(state, () => state.decoder.push(bytes));
    else if (state.phase === 'reading_error') {
      // The rest of a long error is ignored: its status says enough.
      if (state.bytes.length + bytes.length > this.#socket.limits.maxErrorBytes) return;
      state.bytes.append(bytes);
      this.#hold(bytes.length);
    } else this.#move('answer_body', { phase: 'ended' });
  }

  end(): void {
    const state = this.#state;
    this.#answerEnded();
    if (state.phase === 'streaming') this.#readEvents(state, () => state.decoder.finish(), true);
    const isError = state.phase === 'reading_error';
    this.#endEarly('answer_end', isError ? readAnswerError(state, this.#socket.limits.maxValues) : truncated);
  }

  /** Called if there is no answer, or an incomplete one. */
  broken(reason: string): void {
    const unanswered = turnError(502, 'upstream_unavailable', `The gateway did not answer: ${reason}.`);
    this.#answerEnded();
    this.#endEarly('broken', this.#state.phase === 'requesting' ? unanswered : truncated);
  }

  #answerEnded(): void {
    this.forwarded = null;
    this.#host.answerEnded(this);
  }

  /** Ends the turn after its answer, with `error` if the answer has neither a terminal event nor an error of its own. */
  #endEarly(event: TurnEvent, error: TurnError): void {
    const state = this.#state;
    if (state.phase === 'ended') this.#move(event, state);
    else if (state.phase === 'streaming' && state.errorEvent !== null) {
      this.#socket.send(state.errorEvent);
      this.#finish(event, 'failed');
    } else this.#refuse(event, error);
  }

  /** Ends the turn because its connection ends. `error` is null if the client is gone. */
  cancel(error: TurnError | null): void {
    const { forwarded } = this;
    this.forwarded = null;
    const state = this.#state;
    if (state.phase !== 'ended') {
      if (error !== null) this.#socket.send(encodeErrorMessage(error, this.streamId));
      if (error !== null && state.phase === 'waiting') this.#socket.refused(error, state.message, this.number);
      this.#finish('cancel', error === null ? 'aborted' : 'error');
    }
    forwarded?.abort();
  }

  /** Ends the response of this id, if it is this turn's and runs, with its finished items. */
  interrupt(responseId: string): void {
    const state = this.#state;
    if (state.phase !== 'streaming' || state.response.id !== responseId) return;
    this.#abortForwarded();
    // The client has ended the response, so an error that is held back is dropped.
    state.errorEvent = null;
    const { events, last } = state.response.interrupt(estimateInputTokens(state, state.bodyBytes));
    for (const event of events) this.#send(event);
    this.#sendResponseEvent(state, last);
  }

  #readEvents(state: Streaming, read: () => SseMessage[], isEnd = false): void {
    let messages: SseMessage[];
    try {
      messages = read();
    } catch (error) {
      if (!(error instanceof SseLimitError)) throw error;
      this.#abortForwarded();
      this.#refuse('answer_body', turnError(502, 'upstream_event_too_large', error.message));
      return;
    }
    for (const message of messages)
      if (message.type === 'event' && this.#state.phase !== 'ended') this.#readEvent(state, message.data, isEnd);
  }

  /** With `isEnd`, the event lacks its blank line, and may be half an event that a reset has cut. */
  #readEvent(state: Streaming, data: string, isEnd: boolean): void {
    if (data === '[DONE]') return;
    const event = readStreamEvent(data, this.#socket.limits.maxValues);
    if (event === null) {
      if (isEnd) return;
      this.#abortForwarded();
      this.#refuse('answer_body', notEvents);
      return;
    }
    if (event.kind === 'error') {
      this.#hold(data.length);
      state.errorEvent = this.#withLane(event.fields, data);
      return;
    }
    this.#hold(state.response.push(event, data));
    if (event.kind === 'response') this.#sendResponseEvent(state, event.fields, data);
    else this.#send(event.fields, data);
  }

  #sendResponseEvent({ previous, input, errorEvent }: Streaming, event: ResourceEvent, data?: string): void {
    const { type, sequence_number, response } = event;
    // The proxy was sent the whole conversation, and does not know that it is a continuation.
    const continued = { ...event, response: { ...response, previous_response_id: this.#previousId } };
    // This event takes the number of the error event that is left out.
    if (errorEvent !== null && typeof sequence_number === 'number') continued.sequence_number = sequence_number - 1;
    if (this.#previousId === null && errorEvent === null) this.#send(event, data);
    else this.#send(continued);
    const outcome = terminal.get(type);
    if (outcome === undefined) return;
    if (outcome !== 'failed') {
      const kept = continueConversation(response.id, previous, input, response.output);
      if (kept !== null) this.#host.keep(this, kept);
    }
    this.#finish('answer_body', outcome);
  }

  #send(fields: EventFields, data = JSON.stringify(fields)): void {
    this.#socket.send(this.#withLane(fields, data));
  }

  /** Adds the lane's id to an event's JSON, as its last field. The event is written anew if it has a `stream_id`, or does not end with its brace. */
  #withLane(fields: EventFields, data: string): string {
    const stream_id = this.streamId;
    if (stream_id === null) return data;
    if (fields.stream_id !== undefined || !data.endsWith('}')) return JSON.stringify({ ...fields, stream_id });
    return `${data.slice(0, -1)},"stream_id":${JSON.stringify(stream_id)}}`;
  }

  /** Ends the turn with an error message. A response whose continuation failed can no longer be continued. */
  #refuse(event: TurnEvent, error: TurnError): void {
    this.#socket.send(encodeErrorMessage(error, this.streamId));
    this.#host.evict(this.#previousId);
    this.#finish(event, 'error');
  }

  #finish(event: TurnEvent, outcome: TurnOutcome): void {
    this.#move(event, { phase: 'ended' });
    this.#releaseUntaken();
    this.#socket.hold(-this.#held, 0);
    this.#host.ended(this, outcome);
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    if (bytes > 0) this.#socket.hold(bytes, 0);
  }

  #releaseUntaken(): void {
    this.#socket.hold(0, -this.#untaken);
    this.#untaken = 0;
  }

  #abortForwarded(): void {
    this.forwarded?.abort();
    this.forwarded = null;
  }

  #move(event: TurnEvent, to: TurnState): void {
    checkMove(turnMoves, this.#state.phase, event, to.phase);
    this.#state = to;
  }
}

function readAnswerError({ head, bytes }: ReadingError, maxValues: number): TurnError {
  const { status, contentType, retryAfter } = head;
  if (status === 200) return notEvents;
  const body = contentType.includes('json') ? readJson(String(bytes.whole()), maxValues) : null;
  const error = objectOf<Readonly<Record<string, unknown>>>(objectOf<{ error?: unknown }>(body)?.error) ?? {
    type: status >= 500 ? 'server_error' : 'invalid_request',
    code: `http_${status}`,
    param: null,
    message: `The gateway answered with status ${status}.`,
  };
  return { status, error, ...(retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } }) };
}

const truncated = turnError(502, 'upstream_stream_truncated', 'The stream of the response ended early.');
const notEvents = turnError(502, 'invalid_upstream_response', 'The gateway’s answer is not a stream of events.');
