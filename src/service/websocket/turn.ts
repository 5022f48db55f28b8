import type { Buffer } from 'node:buffer';
import { checkMove, estimatedTokens, SseDecoder, SseLimitError, type SseMessage } from '../../filter/index.ts';
import { type Conversation, conversationOf, itemsOfOutput } from './conversations.ts';
import { errorMessage, type TurnError, turnError } from './errors.ts';
import { mediaBytesOf } from './media.ts';
import type { RawFields } from './raw-fields.ts';
import { RunningResponse } from './running-response.ts';
import { type EventFields, type RunningResource, readStreamEvent } from './stream-event.ts';
import { bodyOf, previousIdOf, readTurnRequest } from './turn-request.ts';
import { type TurnEvent, type TurnPhase, turnMoves } from './websocket-phases.ts';

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
  /** The response that a turn named can no longer be continued. */
  evict(responseId: string): void;
  /** Counts so many bytes more, or fewer if negative; of them, `untaken` are of a message that the proxy has not taken. */
  hold(bytes: number, untaken: number): void;
  /** The proxy was not asked. Called before `ended`. */
  refused(error: TurnError, message: Buffer): void;
  /** The proxy's answer has ended, or there is none. */
  answerEnded(turn: Turn): void;
  /** The turn has ended. Called once. */
  ended(turn: Turn, outcome: TurnOutcome): void;
}

/** Bytes that the connection to the proxy takes, with a turn on it. */
const proxyConnectionBytes = 40 * 1024;

/** Events that end a turn. */
const terminal: ReadonlyMap<string, TurnOutcome> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
]);

/** One `response.create` of a connection, from its message to the last event of its response. */
export class Turn {
  readonly streamId: string | null;
  readonly number: number;
  /** Null unless the proxy's answer has not ended, though the client may have been sent all of it. */
  forwarded: ForwardedTurn | null = null;
  readonly #host: TurnHost;
  /** As it came; null once the turn has ended, though the proxy may go on with the answer. */
  message: Buffer | null;
  #fields: RawFields | null;
  /** Bytes that are counted until the turn ends, and those of its message until the proxy has it. */
  #held: number;
  #untaken: number;
  #phase: TurnPhase = 'waiting';
  #previousId: string | null = null;
  #previous: Conversation | null = null;
  #input: Buffer | null = null;
  #decoder: SseDecoder | null = null;
  #response: RunningResponse | null = null;
  /** Bytes of the request to the proxy. */
  #bodyBytes = 0;
  #head: AnswerHead | null = null;
  /** Body chunks of an answer that is an error. */
  #errorBody: Buffer[] = [];
  #errorBytes = 0;
  /** The `error` event of the stream: the `response.failed` that follows says the same, and a turn has one end. */
  #errorEvent: string | null = null;

  /** `message` is counted already. */
  constructor(message: Buffer, fields: RawFields, streamId: string | null, number: number, host: TurnHost) {
    this.message = message;
    this.#fields = fields;
    this.streamId = streamId;
    this.number = number;
    this.#host = host;
    this.#held = message.length;
    this.#untaken = message.length;
  }

  /** The lane is free: decodes the request, and asks the proxy. */
  start(): void {
    const fields: RawFields = this.#fields ?? new Map();
    this.#fields = null;
    this.#previousId = previousIdOf(fields);
    const request = readTurnRequest(fields, (id) => this.#host.find(id), this.#host.limits.maxValues);
    if ('status' in request) {
      this.#refused(request);
      this.#refuse('start', request);
      return;
    }
    this.#previous = request.previous;
    this.#input = request.input;
    this.#move('start', 'requesting');
    const body = bodyOf(request);
    this.#response = new RunningResponse();
    this.#bodyBytes = body.reduce((sum, { length }) => sum + length, 0);
    this.#hold(proxyConnectionBytes);
    const forwarded = this.#host.forward(body, this.number, this);
    // It may have failed at once.
    if (this.#isOver()) return;
    this.forwarded = forwarded;
  }

  headers(head: AnswerHead): void {
    this.#taken();
    const isStream = head.status === 200 && head.contentType.startsWith('text/event-stream');
    this.#move('answer_headers', isStream ? 'streaming' : 'reading_error');
    this.#head = head;
    if (isStream) this.#decoder = new SseDecoder({ maxEventBytes: this.#host.limits.maxEventBytes });
  }

  body(bytes: Buffer): void {
    if (this.#phase === 'streaming') this.#events(() => this.#decoder?.push(bytes) ?? []);
    else if (this.#phase === 'reading_error') {
      this.#move('answer_body', 'reading_error');
      // A longer one is cut; its status is informative enough.
      if (this.#errorBytes + bytes.length > this.#host.limits.maxErrorBytes) return;
      this.#errorBytes += bytes.length;
      this.#errorBody.push(bytes);
    } else this.#move('answer_body', 'ended');
  }

  /** The body is complete. */
  end(): void {
    this.#answerEnded();
    if (this.#phase === 'streaming') this.#events(() => this.#decoder?.finish() ?? [], true);
    if (this.#phase === 'ended') this.#move('answer_end', 'ended');
    else if (this.#phase === 'reading_error') this.#refuse('answer_end', this.#errorOfAnswer());
    else this.#endEarly('answer_end');
  }

  /** There is no answer, or it is incomplete. */
  broken(reason: string): void {
    this.#answerEnded();
    if (this.#phase === 'ended') this.#move('broken', 'ended');
    else if (this.#phase === 'requesting')
      this.#refuse('broken', turnError(502, 'upstream_unavailable', `The gateway did not answer: ${reason}.`));
    else this.#endEarly('broken');
  }

  #answerEnded(): void {
    this.forwarded = null;
    this.#host.answerEnded(this);
  }

  /** The answer is over without a terminal event. */
  #endEarly(event: TurnEvent): void {
    if (this.#errorEvent === null) this.#refuse(event, truncated);
    else {
      this.#send(this.#errorEvent);
      this.#finish(event, 'failed');
    }
  }

  /** The connection is gone, or ends before this turn's time came: `error` is for the client that still listens. */
  cancel(error: TurnError | null): void {
    const forwarded = this.forwarded;
    this.forwarded = null;
    if (this.#phase !== 'ended') {
      if (error !== null) this.#host.send(errorMessage(error, this.streamId));
      if (error !== null && this.#phase === 'waiting') this.#refused(error);
      this.#finish('cancel', error === null ? 'aborted' : 'error');
    }
    forwarded?.abort();
  }

  /** Ends its response, if that is the one that runs, with what is finished of it. Returns whether it did. */
  interrupt(responseId: string): boolean {
    const response = this.#response;
    if (response === null || response.id !== responseId) return false;
    this.#abortForwarded();
    // The error that was held is told no more: the client has ended the response itself.
    this.#errorEvent = null;
    const { events, last } = response.interrupt(this.#inputTokens());
    for (const event of events) this.#send(event);
    this.#responseEvent(last, JSON.stringify(last));
    return true;
  }

  /** Tokens of the request, estimated. */
  #inputTokens(): number {
    const items = [...(this.#previous?.items ?? []), ...(this.#input === null ? [] : [this.#input])];
    return estimatedTokens(this.#bodyBytes, items.flatMap(mediaBytesOf));
  }

  #events(read: () => SseMessage[], isEnd = false): void {
    let messages: SseMessage[];
    try {
      messages = read();
    } catch (error) {
      if (!(error instanceof SseLimitError)) throw error;
      this.#abortForwarded();
      this.#refuse('answer_body', turnError(502, 'upstream_event_too_large', error.message));
      return;
    }
    for (const message of messages) if (message.type === 'event' && !this.#isOver()) this.#event(message.data, isEnd);
  }

  /** `isEnd`: what lacks its blank line may be half an event, cut by a reset. */
  #event(data: string, isEnd: boolean): void {
    if (data === '[DONE]') return;
    const event = readStreamEvent(data, this.#host.limits.maxValues);
    if (event === null) {
      if (isEnd) return;
      this.#abortForwarded();
      this.#refuse('answer_body', notEvents);
      return;
    }
    if (event.kind === 'error') {
      this.#hold(data.length);
      this.#errorEvent = data;
      return;
    }
    this.#hold(this.#response?.push(event, data) ?? 0);
    // A delta's text is forwarded unchanged.
    if (event.kind === 'response') this.#responseEvent(event.fields, data);
    else this.#send(data);
  }

  #responseEvent(event: EventFields & { readonly response: RunningResource }, data: string): void {
    const { type, sequence_number, response } = event;
    // The proxy was sent the whole conversation: only this side knows that it is a continuation.
    const continued = { ...event, response: { ...response, previous_response_id: this.#previousId } };
    // It takes the number of the error that is left out.
    if (this.#errorEvent !== null && typeof sequence_number === 'number')
      continued.sequence_number = sequence_number - 1;
    this.#send(this.#previousId === null && this.#errorEvent === null ? data : JSON.stringify(continued));
    const outcome = terminal.get(type);
    if (outcome === undefined) return;
    if (outcome !== 'failed') {
      const kept = conversationOf(response.id, this.#previous, this.#input, itemsOfOutput(response.output));
      if (kept !== null) this.#host.keep(this, kept);
    }
    this.#finish('answer_body', outcome);
  }

  /** An event's JSON, with the lane's id as its last field. */
  #send(data: string): void {
    this.#host.send(
      this.streamId === null ? data : `${data.slice(0, -1)},"stream_id":${JSON.stringify(this.streamId)}}`,
    );
  }

  #errorOfAnswer(): TurnError {
    const { status, contentType, retryAfter } = this.#head ?? notAnswered;
    if (status === 200) return notEvents;
    const error = readError(contentType, this.#errorBody) ?? {
      type: status >= 500 ? 'server_error' : 'invalid_request',
      code: `http_${status}`,
      param: null,
      message: `The gateway answered with status ${status}.`,
    };
    return { status, error, ...(retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } }) };
  }

  /** Ends the turn with an error message. A response whose continuation failed can no longer be continued. */
  #refuse(event: TurnEvent, error: TurnError): void {
    this.#host.send(errorMessage(error, this.streamId));
    if (this.#previousId !== null) this.#host.evict(this.#previousId);
    this.#finish(event, 'error');
  }

  #finish(event: TurnEvent, outcome: TurnOutcome): void {
    this.#move(event, 'ended');
    this.message = null;
    this.#fields = null;
    this.#previous = null;
    this.#input = null;
    this.#decoder = null;
    this.#response = null;
    this.#errorBody = [];
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

  #refused(error: TurnError): void {
    if (this.message !== null) this.#host.refused(error, this.message);
  }

  #abortForwarded(): void {
    this.forwarded?.abort();
    this.forwarded = null;
  }

  #isOver(): boolean {
    return this.#phase === 'ended';
  }

  #move(event: TurnEvent, to: TurnPhase): void {
    checkMove(turnMoves, this.#phase, event, to);
    this.#phase = to;
  }
}

const truncated = turnError(502, 'upstream_stream_truncated', 'The stream of the response ended early.');
const notEvents = turnError(502, 'invalid_upstream_response', 'The gateway’s answer is not a stream of events.');
const notAnswered: AnswerHead = { status: 502, contentType: '', retryAfter: null };

/** The error object of a body `{"error": {…}}`, or null. */
function readError(contentType: string, body: readonly Buffer[]): Readonly<Record<string, unknown>> | null {
  if (!contentType.includes('json')) return null;
  try {
    const { error } = JSON.parse(body.map(String).join('')) as { error?: unknown };
    return typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
