import type { Buffer } from 'node:buffer';
import { type ApiError, checkMove } from '../../filter/index.ts';
import { ownBytes } from '../../formats/bytes/growing-bytes.ts';
import { parseClientMessage, writeSteerFailed } from './client-message.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { encodeErrorMessage, fromApiError, invalid, type TurnError, turnError } from './errors.ts';
import {
  type AnswerListener,
  type ForwardedTurn,
  type ForwardTurn,
  Turn,
  type TurnHost,
  type TurnLimits,
  type TurnOutcome,
  type TurnSocket,
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

export interface ConnectionSocket extends TurnSocket {
  readonly limits: ConnectionLimits;
  readonly conversations: Conversations;
  readonly forward: ForwardTurn;
  /** Closes the WebSocket once everything has been sent. Called at most once. */
  close(code: number, reason: string): void;
  /** Returns the error for the client, and counts nothing, if there is no room for a message of `untaken` bytes. */
  hold(bytes: number, untaken: number): ApiError | null;
  turnEnded(outcome: TurnOutcome): void;
}

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

/** The turns of one `stream_id`, or of none, which follow one another. */
interface Lane {
  readonly streamId: string | null;
  running: Turn | null;
  /** Turns, and errors of messages that were refused meanwhile, which the client gets in this order. */
  readonly waiting: (Turn | TurnError)[];
  /** The conversation that the next turn may continue. */
  last: Conversation | null;
}

/** Bytes that an error takes while it waits in a lane. */
const waitingErrorBytes = 512;

/** With `isTold`, an error has told the client why the connection ends. */
type ConnectionState =
  | { readonly phase: 'open' }
  | { readonly phase: 'closed' }
  | { readonly phase: 'ending'; readonly why: EndReason; isTold: boolean };

/** The protocol of one WebSocket: lanes of turns, and the response that the next turn of each may continue. */
export class Connection implements TurnHost {
  readonly socket: ConnectionSocket;
  /** Lanes by `stream_id`, in the order of their last turns. */
  readonly #lanes = new Map<string | null, Lane>();
  /** Turns that have started, until the proxy's answer has ended. */
  readonly #active = new Set<Turn>();
  #state: ConnectionState = { phase: 'open' };
  #number = 0;
  /** Messages since the proxy was last asked, and errors that wait in lanes. */
  #unasked = 0;
  #waitingErrors = 0;
  #isBlocked = false;

  constructor(socket: ConnectionSocket) {
    this.socket = socket;
  }

  /** Takes a text message of the client, in UTF-8. */
  message(data: Buffer): void {
    const state = this.#state;
    if (state.phase === 'closed') return;
    this.#unasked += 1;
    if (this.#unasked > this.socket.limits.maxUnasked) {
      this.#refuseAll(data);
      return;
    }
    const message = parseClientMessage(data, this.socket.limits.maxValues);
    if ('status' in message) this.#refuse(message, null, data);
    else if (message.type === 'steer') this.socket.send(writeSteerFailed(message));
    else if (message.type === 'interrupt') {
      for (const turn of this.#active) turn.interrupt(message.responseId);
    } else if (state.phase === 'open') this.#createTurn(message.streamId, data);
    else {
      state.isTold = true;
      this.#refuse(endErrors[state.why], message.streamId, data);
    }
  }

  /** Lets running turns finish, begins no new turn, and then closes the connection. */
  end(why: EndReason): void {
    if (this.#state.phase !== 'open') return;
    this.#move('end', { phase: 'ending', why, isTold: false });
    this.#closeIfIdle();
  }

  /** Ends all turns and forgets the conversations. `why` is null if the client is gone, or is not told. */
  abort(why: EndReason | null): void {
    this.#move('abort', { phase: 'closed' });
    const error = why === null ? null : endErrors[why];
    const unanswered = [...this.#active, ...this.#allLanes().flatMap((lane) => lane.waiting.splice(0))];
    for (const one of unanswered)
      if (one instanceof Turn) one.cancel(error);
      else {
        this.#holdError(-1);
        this.socket.turnEnded('error');
      }
    this.#forgetAll();
  }

  /** Finds the client's message of a turn that has not ended. */
  findMessage(number: number): Buffer | null {
    for (const lane of this.#allLanes())
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

  forward(body: readonly Buffer[], number: number, answer: AnswerListener): ForwardedTurn {
    this.#unasked = this.#waitingErrors;
    const forwarded = this.socket.forward(body, number, answer);
    if (this.#isBlocked) forwarded.pause();
    return forwarded;
  }

  findConversation(responseId: string): Conversation | null {
    const last = this.#allLanes().find((lane) => lane.last?.responseId === responseId)?.last;
    return last?.items == null ? null : last;
  }

  keep({ streamId }: Turn, conversation: Conversation): void {
    const lane = this.#lanes.get(streamId);
    if (lane !== undefined) this.#setLast(lane, conversation);
  }

  evict(responseId: string | null): void {
    for (const lane of this.#allLanes()) if (lane.last?.responseId === responseId) this.#setLast(lane, null);
  }

  answerEnded(turn: Turn): void {
    this.#active.delete(turn);
  }

  ended(turn: Turn, outcome: TurnOutcome): void {
    if (turn.forwarded === null) this.#active.delete(turn);
    this.socket.turnEnded(outcome);
    const lane = this.#lanes.get(turn.streamId);
    if (lane !== undefined) {
      lane.running = null;
      this.#startNext(lane);
    }
    this.#closeIfIdle();
  }

  /** Answers a message with an error after the turns before it, because clients take an error for the end of the running turn. */
  #refuse(error: TurnError, streamId: string | null, message: Buffer): void {
    this.socket.refused(error, message, null);
    const lane = this.#lanes.get(streamId);
    if (lane === undefined || lane.running === null) this.#sendError(error, streamId);
    else {
      this.#holdError(1);
      lane.waiting.push(error);
    }
  }

  #holdError(change: 1 | -1): void {
    this.#waitingErrors += change;
    this.socket.hold(change * waitingErrorBytes, 0);
  }

  /** Closes the connection of a client that sends refused messages only: each costs CPU, and a line of the log. */
  #refuseAll(message: Buffer): void {
    const text = `The last ${this.socket.limits.maxUnasked} messages of this connection did not request a response. The connection is closed.`;
    const error = turnError(429, 'too_many_refused_messages', text);
    this.socket.refused(error, message, null);
    this.#sendError(error, null);
    this.abort(null);
    this.socket.close(1008, String(error.error.code));
  }

  #sendError(error: TurnError, streamId: string | null): void {
    this.socket.send(encodeErrorMessage(error, streamId));
    this.socket.turnEnded('error');
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
    const lane = this.#enterLane(streamId);
    this.#number += 1;
    lane.waiting.push(new Turn(message, streamId, this.#number, this));
    this.#startNext(lane);
  }

  /** Counts the bytes of a message that becomes a turn, or returns the error if there is no room for the turn. */
  #takeRoom(streamId: string | null, bytes: number): TurnError | null {
    const { maxLanes, maxWaiting } = this.socket.limits;
    // A new lane needs room, or an idle lane to replace.
    if (!this.#lanes.has(streamId) && this.#lanes.size >= maxLanes && this.#findIdleLane() === undefined) {
      const text = `All ${maxLanes} lanes ('stream_id') of this connection are busy. Wait for a response.`;
      return turnError(429, 'too_many_lanes', text, 'stream_id');
    }
    const waiting = this.#allLanes().reduce((sum, lane) => sum + lane.waiting.length, 0);
    if (waiting >= maxWaiting && this.#lanes.get(streamId)?.running != null) {
      const text = `${maxWaiting} requests are already waiting on this connection. Wait for a response.`;
      return turnError(429, 'too_many_waiting_responses', text);
    }
    const overload = this.socket.hold(bytes, bytes);
    return overload === null ? null : fromApiError(overload);
  }

  /** Returns the lane, now the last in order. A new lane may replace an idle one, whose conversation is forgotten. */
  #enterLane(streamId: string | null): Lane {
    const lane: Lane = this.#lanes.get(streamId) ?? { streamId, running: null, waiting: [], last: null };
    this.#lanes.delete(streamId);
    const replaced = this.#lanes.size < this.socket.limits.maxLanes ? undefined : this.#findIdleLane();
    if (replaced !== undefined) {
      this.#setLast(replaced, null);
      this.#lanes.delete(replaced.streamId);
    }
    this.#lanes.set(streamId, lane);
    return lane;
  }

  #allLanes(): Lane[] {
    return [...this.#lanes.values()];
  }

  /** Finds the least recently used lane that has no turn. */
  #findIdleLane(): Lane | undefined {
    return this.#allLanes().find(({ running }) => running === null);
  }

  #setLast(lane: Lane, conversation: Conversation | null): void {
    if (lane.last !== null) this.socket.conversations.forget(lane.last);
    lane.last = conversation;
    if (conversation !== null) this.socket.conversations.keep(conversation);
  }

  #startNext(lane: Lane): void {
    while (lane.running === null) {
      const next = lane.waiting.shift();
      if (next === undefined) return;
      if (!(next instanceof Turn)) {
        this.#holdError(-1);
        this.#sendError(next, lane.streamId);
      } else if (this.#state.phase === 'ending') {
        this.#state.isTold = true;
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
    if (state.phase !== 'ending' || this.#allLanes().some(({ running }) => running !== null)) return;
    const error = endErrors[state.why];
    this.#move('last_turn', { phase: 'closed' });
    if (!state.isTold && state.why === 'time_limit') this.socket.send(encodeErrorMessage(error, null));
    this.#forgetAll();
    this.socket.close(1001, String(error.error.code));
  }

  #forgetAll(): void {
    for (const lane of this.#allLanes()) this.#setLast(lane, null);
  }

  #move(by: ConnectionMove, to: ConnectionState): void {
    checkMove(connectionMoves, this.#state.phase, by, to.phase);
    this.#state = to;
  }
}
