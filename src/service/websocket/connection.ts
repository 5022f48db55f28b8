import type { Buffer } from 'node:buffer';
import { type ApiError, checkMove } from '../../filter/index.ts';
import { ownBytes } from '../../formats/bytes/growing-bytes.ts';
import { parseClientMessage, writeSteerFailed } from './client-message.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { encodeErrorMessage, fromApiError, invalid, type TurnError, turnError } from './errors.ts';
import { type Lane, Lanes } from './lanes.ts';
import {
  type AnswerListener,
  type ForwardedTurn,
  type ForwardTurn,
  Turn,
  type TurnHost,
  type TurnLimits,
  type TurnOutcome,
} from './turn.ts';
import { type ConnectionMove, connectionMoves } from './websocket-phases.ts';

export interface ConnectionLimits extends TurnLimits {
  /** Maximum lanes at once, including the lane without a `stream_id`. */
  readonly maxLanes: number;
  /** Maximum turns that wait for others, in all lanes together. */
  readonly maxWaiting: number;
  /** Maximum messages in a row for which the proxy is not asked. A refused message counts until its error is sent. */
  readonly maxUnasked: number;
}

/** What a connection needs of its socket. */
export interface ConnectionHost {
  readonly limits: ConnectionLimits;
  readonly conversations: Conversations;
  readonly forward: ForwardTurn;
  send(text: string): void;
  /** Closes the WebSocket once everything has been sent. Called at most once. */
  close(code: number, reason: string): void;
  /**
   * Adds `bytes` to the memory that is counted, `untaken` of them for a message that the proxy has yet to parse. Both may be negative.
   * Returns the error for the client, and counts nothing, if there is no room for such a message.
   */
  hold(bytes: number, untaken: number): ApiError | null;
  /** Called with the error of a message for which the proxy was not asked, and the number of its turn if it has become one. */
  refused(error: TurnError, message: Buffer | null, turn: number | null): void;
  turnEnded(outcome: TurnOutcome): void;
}

/** Why the service ends a connection. */
export type EndReason = 'time_limit' | 'shutdown';

const advice = "Open a new connection, and send the full conversation as 'input'.";
/** OpenAI reports the time limit as a mistake of the client, with 400. */
const endErrors: Readonly<Record<EndReason, TurnError>> = {
  time_limit: invalid(
    'websocket_connection_limit_reached',
    null,
    `The connection has reached its time limit. ${advice}`,
  ),
  shutdown: turnError(503, 'server_shutting_down', `The server is shutting down. ${advice}`),
};

/** Bytes that an error takes while it waits in a lane. */
const waitingErrorBytes = 512;

/** With `isSaid`, an error has told the client why the connection ends. */
type ConnectionState =
  | { readonly phase: 'open' }
  | { readonly phase: 'closed' }
  | { readonly phase: 'ending'; readonly why: EndReason; isSaid: boolean };

/** The protocol of one WebSocket: lanes of turns, and the response that the next turn of each may continue. */
export class Connection implements TurnHost {
  readonly limits: ConnectionLimits;
  readonly #host: ConnectionHost;
  readonly #lanes: Lanes;
  /** Turns that have started, until the proxy's answer has ended. */
  readonly #active = new Set<Turn>();
  #state: ConnectionState = { phase: 'open' };
  #number = 0;
  /** Messages since the proxy was last asked, and errors that wait in lanes. */
  #unasked = 0;
  #waitingErrors = 0;
  #isBlocked = false;

  constructor(host: ConnectionHost) {
    this.limits = host.limits;
    this.#host = host;
    this.#lanes = new Lanes(host.limits.maxLanes, host.conversations);
  }

  /** Takes a text message of the client, in UTF-8. */
  message(data: Buffer): void {
    const state = this.#state;
    if (state.phase === 'closed') return;
    this.#unasked += 1;
    if (this.#unasked > this.limits.maxUnasked) {
      this.#refuseAll(data);
      return;
    }
    const message = parseClientMessage(data, this.limits.maxValues);
    if ('status' in message) this.#refuse(message, null, data);
    else if (message.type === 'steer') this.send(writeSteerFailed(message));
    else if (message.type === 'interrupt') {
      for (const turn of this.#active) turn.interrupt(message.responseId);
    } else if (state.phase === 'open') this.#createTurn(message.streamId, data);
    else {
      state.isSaid = true;
      this.#refuse(endErrors[state.why], message.streamId, data);
    }
  }

  /** Lets running turns finish, begins no new turn, and then closes the connection. */
  end(why: EndReason): void {
    if (this.#state.phase !== 'open') return;
    this.#move('end', { phase: 'ending', why, isSaid: false });
    this.#closeIfIdle();
  }

  /** Ends all turns and forgets the conversations. `why` is null if the client is gone, or is not told. */
  abort(why: EndReason | null): void {
    this.#move('abort', { phase: 'closed' });
    const error = why === null ? null : endErrors[why];
    const unanswered = [...this.#active, ...this.#lanes.all().flatMap((lane) => lane.waiting.splice(0))];
    for (const one of unanswered)
      if (one instanceof Turn) one.cancel(error);
      else {
        this.#holdError(-1);
        this.#host.turnEnded('error');
      }
    this.#forgetAll();
  }

  /** Finds the client's message of a turn that has not ended. */
  findMessage(number: number): Buffer | null {
    for (const lane of this.#lanes.all())
      for (const turn of [lane.running, ...lane.waiting])
        if (turn instanceof Turn && turn.number === number) return turn.message;
    return null;
  }

  /** Pauses the answers of all turns while the client does not read, and resumes them. */
  setBlocked(isBlocked: boolean): void {
    this.#isBlocked = isBlocked;
    for (const { forwarded } of this.#active)
      if (isBlocked) forwarded?.pause();
      else forwarded?.resume();
  }

  send(text: string): void {
    this.#host.send(text);
  }

  hold(bytes: number, untaken: number): void {
    this.#host.hold(bytes, untaken);
  }

  refused(error: TurnError, message: Buffer, turn: number): void {
    this.#host.refused(error, message, turn);
  }

  forward(body: readonly Buffer[], number: number, answer: AnswerListener): ForwardedTurn {
    this.#unasked = this.#waitingErrors;
    const forwarded = this.#host.forward(body, number, answer);
    if (this.#isBlocked) forwarded.pause();
    return forwarded;
  }

  findConversation(responseId: string): Conversation | null {
    return this.#lanes.find(responseId);
  }

  keep({ streamId }: Turn, conversation: Conversation): void {
    const lane = this.#lanes.get(streamId);
    if (lane !== undefined) this.#lanes.setLast(lane, conversation);
  }

  evict(responseId: string | null): void {
    for (const lane of this.#lanes.all()) if (lane.last?.responseId === responseId) this.#lanes.setLast(lane, null);
  }

  answerEnded(turn: Turn): void {
    this.#active.delete(turn);
  }

  ended(turn: Turn, outcome: TurnOutcome): void {
    if (turn.forwarded === null) this.#active.delete(turn);
    this.#host.turnEnded(outcome);
    const lane = this.#lanes.get(turn.streamId);
    if (lane !== undefined) {
      lane.running = null;
      this.#startNext(lane);
    }
    this.#closeIfIdle();
  }

  /** Answers a message with an error after the turns before it, because clients take an error for the end of the running turn. */
  #refuse(error: TurnError, streamId: string | null, message: Buffer): void {
    this.#host.refused(error, message, null);
    const lane = this.#lanes.get(streamId);
    if (lane === undefined || lane.running === null) this.#sendError(error, streamId);
    else {
      this.#holdError(1);
      lane.waiting.push(error);
    }
  }

  #holdError(change: 1 | -1): void {
    this.#waitingErrors += change;
    this.#host.hold(change * waitingErrorBytes, 0);
  }

  /** Closes the connection of a client that sends refused messages only: each costs CPU, and a line of the log. */
  #refuseAll(message: Buffer): void {
    const text = `The last ${this.limits.maxUnasked} messages of this connection did not request a response. The connection is closed.`;
    const error = turnError(429, 'too_many_refused_messages', text);
    this.#host.refused(error, message, null);
    this.#sendError(error, null);
    this.abort(null);
    this.#host.close(1008, String(error.error.code));
  }

  #sendError(error: TurnError, streamId: string | null): void {
    this.send(encodeErrorMessage(error, streamId));
    this.#host.turnEnded('error');
  }

  #createTurn(streamId: string | null, data: Buffer): void {
    // Until the turn starts, only the bytes are kept: parsed fields would take many times their size.
    const message = ownBytes(data);
    const refusal = this.#takeRoom(streamId, message.length);
    if (refusal !== null) {
      this.#refuse(refusal, streamId, message);
      return;
    }
    // A new lane may take another lane's conversation, so it is entered only once the turn is accepted.
    const lane = this.#lanes.enter(streamId);
    this.#number += 1;
    lane.waiting.push(new Turn(message, streamId, this.#number, this));
    this.#startNext(lane);
  }

  /** Counts the bytes of a message that becomes a turn, or returns the error if there is no room for the turn. */
  #takeRoom(streamId: string | null, bytes: number): TurnError | null {
    const { maxLanes, maxWaiting } = this.limits;
    if (!this.#lanes.hasRoomFor(streamId)) {
      const text = `All ${maxLanes} lanes ('stream_id') of this connection are busy. Wait for a response.`;
      return turnError(429, 'too_many_lanes', text, 'stream_id');
    }
    const waiting = this.#lanes.all().reduce((sum, lane) => sum + lane.waiting.length, 0);
    if (waiting >= maxWaiting && this.#lanes.get(streamId)?.running != null) {
      const text = `${maxWaiting} requests are already waiting on this connection. Wait for a response.`;
      return turnError(429, 'too_many_waiting_responses', text);
    }
    const overload = this.#host.hold(bytes, bytes);
    return overload === null ? null : fromApiError(overload);
  }

  #startNext(lane: Lane): void {
    while (lane.running === null) {
      const next = lane.waiting.shift();
      if (next === undefined) return;
      if (!(next instanceof Turn)) {
        this.#holdError(-1);
        this.#sendError(next, lane.streamId);
      } else if (this.#state.phase === 'ending') {
        this.#state.isSaid = true;
        next.cancel(endErrors[this.#state.why]);
      } else {
        lane.running = next;
        this.#active.add(next);
        next.start();
      }
    }
  }

  #closeIfIdle(): void {
    const state = this.#state;
    if (state.phase !== 'ending' || this.#lanes.all().some(({ running }) => running !== null)) return;
    const error = endErrors[state.why];
    this.#move('last_turn', { phase: 'closed' });
    if (!state.isSaid && state.why === 'time_limit') this.send(encodeErrorMessage(error, null));
    this.#forgetAll();
    this.#host.close(1001, String(error.error.code));
  }

  #forgetAll(): void {
    for (const lane of this.#lanes.all()) this.#lanes.setLast(lane, null);
  }

  #move(by: ConnectionMove, to: ConnectionState): void {
    checkMove(connectionMoves, this.#state.phase, by, to.phase);
    this.#state = to;
  }
}
