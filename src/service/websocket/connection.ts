import type { Buffer } from 'node:buffer';
import { type ApiError, checkMove } from '../../filter/index.ts';
import { ownBytes } from '../../formats/bytes/growing-bytes.ts';
import { readClientMessage, steerFailed } from './client-message.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { errorMessage, invalid, type TurnError, turnError, turnErrorOf } from './errors.ts';
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
  /** Maximum lanes at once, the unnamed one included. */
  readonly maxLanes: number;
  /** Maximum turns waiting for others, on all lanes together. */
  readonly maxWaiting: number;
  /** Maximum messages in a row of which the proxy is not asked: refused ones, also while they wait, and what needs no answer of a model. */
  readonly maxUnasked: number;
}

/** The effects of a connection, and its dependencies. */
export interface ConnectionHost {
  readonly limits: ConnectionLimits;
  readonly conversations: Conversations;
  readonly forward: ForwardTurn;
  send(text: string): void;
  /** Closes the WebSocket once everything sent has left. Called at most once. */
  close(code: number, reason: string): void;
  /**
   * Counts so many bytes more, or fewer if negative; of them, `untaken` are of a message that is yet to be parsed by whoever
   * takes it. Returns the error for its client if there is no room for those; then it counts none.
   */
  hold(bytes: number, untaken: number): ApiError | null;
  /** A message will get this error in its place, or a turn of which the proxy was not asked, with its number. */
  refused(error: TurnError, message: Buffer | null, turn: number | null): void;
  turnEnded(outcome: TurnOutcome): void;
}

/** Why the service ends a connection: its time limit, or the shutdown of the service. */
export type EndReason = 'time_limit' | 'shutdown';

/** The time limit is an error for the client (OpenAI sends 400); a server that shuts down is not. */
const endErrors: Readonly<Record<EndReason, TurnError>> = {
  time_limit: invalid(
    'websocket_connection_limit_reached',
    null,
    "The connection has reached its time limit. Open a new connection, and send the full conversation as 'input'.",
  ),
  shutdown: turnError(
    503,
    'server_shutting_down',
    "The server is shutting down. Open a new connection, and send the full conversation as 'input'.",
  ),
};

/** Bytes that an error takes which waits for its place in a lane. */
const waitingErrorBytes = 512;

/** The data of the connection in each phase; `isSaid`: an error has already told the client why. */
type ConnectionState =
  | { readonly phase: 'open' }
  | { readonly phase: 'closed' }
  | { readonly phase: 'ending'; readonly why: EndReason; isSaid: boolean };

/** The protocol of one WebSocket: lanes of turns, and the response that the next turn of each may continue. */
export class Connection implements TurnHost {
  readonly limits: ConnectionLimits;
  readonly #host: ConnectionHost;
  readonly #lanes: Lanes;
  /** Turns whose answer has not ended, in any phase. */
  readonly #onTheWay = new Set<Turn>();
  #state: ConnectionState = { phase: 'open' };
  #number = 0;
  /** Messages since the proxy was asked last, and errors that wait for their place. */
  #unasked = 0;
  #waitingErrors = 0;
  #isBlocked = false;

  constructor(host: ConnectionHost) {
    this.limits = host.limits;
    this.#host = host;
    this.#lanes = new Lanes(host.limits.maxLanes, host.conversations);
  }

  /** A text message of the client, in UTF-8. */
  message(data: Buffer): void {
    const state = this.#state;
    if (state.phase === 'closed') return;
    this.#unasked += 1;
    if (this.#unasked > this.limits.maxUnasked) {
      this.#refuseAll(data);
      return;
    }
    const message = readClientMessage(data, this.limits.maxValues);
    if ('status' in message) this.#refuse(message, null, data);
    else if (message.type === 'steer') this.send(steerFailed(message));
    else if (message.type === 'interrupt') {
      // One that has ended meanwhile has told its client so.
      for (const turn of this.#onTheWay) turn.interrupt(message.responseId);
    } else if (state.phase === 'open') this.#createTurn(message.streamId, data);
    else {
      state.isSaid = true;
      this.#refuse(endErrors[state.why], message.streamId, data);
    }
  }

  /** No new turn begins; running turns finish, and after the last the connection is closed. */
  end(why: EndReason): void {
    if (this.#state.phase !== 'open') return;
    this.#move('end', { phase: 'ending', why, isSaid: false });
    this.#closeIfIdle();
  }

  /** Ends what runs and what waits, with an error if anybody still listens, and discards kept conversations. */
  abort(why: EndReason | null): void {
    this.#move('abort', { phase: 'closed' });
    const error = why === null ? null : endErrors[why];
    const unanswered = [...this.#onTheWay, ...this.#lanes.all().flatMap((lane) => lane.waiting.splice(0))];
    for (const one of unanswered)
      if (one instanceof Turn) one.cancel(error);
      else {
        this.#holdError(-1);
        this.#host.turnEnded('error');
      }
    this.#forgetAll();
  }

  /** The message of a turn that has not ended, as it came; null for any other. */
  messageOf(number: number): Buffer | null {
    for (const lane of this.#lanes.all())
      for (const turn of [lane.running, ...lane.waiting])
        if (turn instanceof Turn && turn.number === number) return turn.message;
    return null;
  }

  /** Whether the client reads more slowly than its turns are answered. */
  setBlocked(now: boolean): void {
    this.#isBlocked = now;
    for (const { forwarded } of this.#onTheWay)
      if (now) forwarded?.pause();
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

  find(responseId: string): Conversation | null {
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
    this.#onTheWay.delete(turn);
  }

  ended(turn: Turn, outcome: TurnOutcome): void {
    if (turn.forwarded === null) this.#onTheWay.delete(turn);
    this.#host.turnEnded(outcome);
    const lane = this.#lanes.get(turn.streamId);
    if (lane !== undefined) {
      lane.running = null;
      this.#startNext(lane);
    }
    this.#closeIfIdle();
  }

  /** Answers a message with an error once the turns before it have ended: clients take an error for the end of the turn that runs. */
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

  /** Closes the connection of a client that goes on sending what is refused: each of its messages costs CPU, and a line of the log. */
  #refuseAll(message: Buffer): void {
    const text = `The last ${this.limits.maxUnasked} messages of this connection did not request a response. The connection is closed.`;
    const error = turnError(429, 'too_many_refused_messages', text);
    this.#host.refused(error, message, null);
    this.#sendError(error, null);
    this.abort(null);
    this.#host.close(1008, String(error.error.code));
  }

  #sendError(error: TurnError, streamId: string | null): void {
    this.send(errorMessage(error, streamId));
    this.#host.turnEnded('error');
  }

  #createTurn(streamId: string | null, data: Buffer): void {
    // All that is kept of it until its turn: what is found in it would take many times its bytes.
    const message = ownBytes(data);
    const { maxLanes, maxWaiting } = this.limits;
    if (!this.#lanes.hasRoomFor(streamId)) {
      const text = `All ${maxLanes} lanes ('stream_id') of this connection are busy. Wait for a response.`;
      this.#refuse(turnError(429, 'too_many_lanes', text, 'stream_id'), streamId, message);
      return;
    }
    const waiting = this.#lanes.all().reduce((sum, lane) => sum + lane.waiting.length, 0);
    if (waiting >= maxWaiting && this.#lanes.get(streamId)?.running != null) {
      const text = `${maxWaiting} requests are already waiting on this connection. Wait for a response.`;
      this.#refuse(turnError(429, 'too_many_waiting_responses', text), streamId, message);
      return;
    }
    const overload = this.#host.hold(message.length, message.length);
    if (overload !== null) {
      this.#refuse(turnErrorOf(overload), streamId, message);
      return;
    }
    // Only now, since it may take another lane's conversation.
    const lane = this.#lanes.enter(streamId);
    this.#number += 1;
    lane.waiting.push(new Turn(message, streamId, this.#number, this));
    this.#startNext(lane);
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
        this.#onTheWay.add(next);
        next.start();
      }
    }
  }

  #closeIfIdle(): void {
    const state = this.#state;
    if (state.phase !== 'ending' || this.#lanes.all().some(({ running }) => running !== null)) return;
    const error = endErrors[state.why];
    this.#move('last_turn', { phase: 'closed' });
    if (!state.isSaid && state.why === 'time_limit') this.send(errorMessage(error, null));
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
