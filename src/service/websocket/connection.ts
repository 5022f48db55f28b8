import type { Buffer } from 'node:buffer';
import type { ApiError } from '../../filter/index.ts';
import { readClientMessage, steerFailed } from './client-message.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { errorMessage, invalid, type TurnError, turnError, turnErrorOf } from './errors.ts';
import type { RawFields } from './raw-fields.ts';
import { type ForwardTurn, Turn, type TurnHost, type TurnLimits, type TurnOutcome } from './turn.ts';

export interface ConnectionLimits extends TurnLimits {
  /** Maximum lanes at once, the unnamed one included. */
  readonly maxLanes: number;
  /** Maximum turns waiting for others, on all lanes together. */
  readonly maxWaiting: number;
  /** Maximum messages in a row of which the proxy is not asked: refused ones, and what needs no answer of a model. */
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
  /** A message will get this error in its place, or a turn of which the proxy was not asked. */
  refused(error: TurnError, message: Buffer | null): void;
  turnEnded(outcome: TurnOutcome): void;
}

/** Why the service ends a connection: its time limit, or the shutdown of the service. */
export type Farewell = 'time_limit' | 'shutdown';

/** The time limit is an error for the client (OpenAI sends 400); a server that shuts down is not. */
const farewells: Readonly<Record<Farewell, TurnError>> = {
  time_limit: invalid(
    'websocket_connection_limit_reached',
    null,
    'The connection has reached its time limit: open a new one, and send the whole conversation as `input`.',
  ),
  shutdown: turnError(
    503,
    'server_shutting_down',
    'The server is going away: open a new connection, and send the whole conversation as `input`.',
  ),
};

export type Connection = ReturnType<typeof createConnection>;

interface Lane {
  readonly streamId: string | null;
  running: Turn | null;
  /** Turns, and the errors of messages that were refused meanwhile: each is answered in its place. */
  readonly waiting: (Turn | TurnError)[];
  /** The connection's last response that can be continued. */
  last: Conversation | null;
}

/** The protocol of one WebSocket: lanes of turns, and the response that the next turn of each may continue. */
export function createConnection(host: ConnectionHost) {
  const { limits, conversations, send } = host;
  /** By `stream_id`, in the order of their last turns; null is the lane without one. */
  const lanes = new Map<string | null, Lane>();
  /** Turns whose answer has not ended, in any phase. */
  const onTheWay = new Set<Turn>();
  let isClosed = false;
  let farewell: Farewell | null = null;
  let farewellSaid = false;
  let waiting = 0;
  let number = 0;
  /** Messages since the proxy was asked last. */
  let unasked = 0;
  let blocked = false;

  function find(responseId: string): Conversation | null {
    for (const { last } of lanes.values())
      if (last?.responseId === responseId) return last.items === null ? null : last;
    return null;
  }

  function setLast(lane: Lane, conversation: Conversation | null): void {
    if (lane.last !== null) conversations.forget(lane.last);
    lane.last = conversation;
    if (conversation !== null) conversations.keep(conversation);
  }

  /** Answers a message with an error once the turns before it have ended: clients take an error for the end of the turn that runs. */
  function refuse(error: TurnError, streamId: string | null, message: Buffer): void {
    host.refused(error, message);
    const lane = lanes.get(streamId);
    if (lane === undefined || lane.running === null) sendError(error, streamId);
    else {
      lane.waiting.push(error);
      waiting += 1;
    }
  }

  /** Closes the connection of a client that goes on sending what is refused: each of its messages costs CPU, and a line of the log. */
  function refuseAll(message: Buffer): void {
    const text = `The last ${limits.maxUnasked} messages of this connection asked for no response: it is closed.`;
    const error = turnError(429, 'too_many_refused_messages', text);
    host.refused(error, message);
    sendError(error, null);
    abort(null);
    host.close(1008, String(error.error.code));
  }

  function sendError(error: TurnError, streamId: string | null): void {
    send(errorMessage(error, streamId));
    host.turnEnded('error');
  }

  /** The least recently used lane without a turn, where a new lane has to replace one; null if all are busy. */
  function replaceable(): Lane | null {
    return [...lanes.values()].find(({ running }) => running === null) ?? null;
  }

  /** The lane of that name, which is the last in order from now on; a new one may replace another. */
  function laneOf(streamId: string | null): Lane {
    const lane: Lane = lanes.get(streamId) ?? { streamId, running: null, waiting: [], last: null };
    lanes.delete(streamId);
    const replaced = lanes.size < limits.maxLanes ? null : replaceable();
    if (replaced !== null) {
      setLast(replaced, null);
      lanes.delete(replaced.streamId);
    }
    lanes.set(streamId, lane);
    return lane;
  }

  function startNext(lane: Lane): void {
    while (lane.running === null && !isClosed) {
      const next = lane.waiting.shift();
      if (next === undefined) return;
      waiting -= 1;
      if (!(next instanceof Turn)) sendError(next, lane.streamId);
      else if (farewell !== null) {
        farewellSaid = true;
        next.cancel(farewells[farewell]);
      } else {
        lane.running = next;
        onTheWay.add(next);
        next.start();
      }
    }
  }

  function createTurn(fields: RawFields, streamId: string | null, message: Buffer): void {
    const known = lanes.get(streamId);
    if (known === undefined && lanes.size >= limits.maxLanes && replaceable() === null) {
      const text = `There are ${limits.maxLanes} lanes already, and all of them are busy.`;
      refuse(turnError(429, 'too_many_lanes', text, 'stream_id'), streamId, message);
      return;
    }
    if (known !== undefined && known.running !== null && waiting >= limits.maxWaiting) {
      const text = `${limits.maxWaiting} requests are waiting on this connection already: wait for a response.`;
      refuse(turnError(429, 'too_many_waiting_responses', text), streamId, message);
      return;
    }
    const overload = host.hold(message.length, message.length);
    if (overload !== null) {
      refuse(turnErrorOf(overload), streamId, message);
      return;
    }
    // Only now, since it may take another lane's conversation.
    const lane = laneOf(streamId);
    number += 1;
    const turn = new Turn(message, fields, streamId, number, turnHost);
    lane.waiting.push(turn);
    waiting += 1;
    startNext(lane);
  }

  const turnHost: TurnHost = {
    ...{ limits, send, find, hold: host.hold, refused: host.refused },
    forward(body, ofTurn, answer) {
      unasked = 0;
      const forwarded = host.forward(body, ofTurn, answer);
      if (blocked) forwarded.pause();
      return forwarded;
    },
    keep({ streamId }, conversation) {
      const lane = lanes.get(streamId);
      if (lane !== undefined) setLast(lane, conversation);
    },
    evict(responseId) {
      for (const lane of lanes.values()) if (lane.last?.responseId === responseId) setLast(lane, null);
    },
    answerEnded: (turn) => onTheWay.delete(turn),
    ended(turn, outcome) {
      if (turn.forwarded === null) onTheWay.delete(turn);
      host.turnEnded(outcome);
      const lane = lanes.get(turn.streamId);
      if (lane?.running === turn) lane.running = null;
      if (isClosed) return;
      if (lane !== undefined) startNext(lane);
      closeIfIdle();
    },
  };

  function closeIfIdle(): void {
    if (isClosed || farewell === null) return;
    if ([...lanes.values()].some(({ running }) => running !== null)) return;
    isClosed = true;
    if (!farewellSaid && farewell === 'time_limit') send(errorMessage(farewells[farewell], null));
    forgetAll();
    host.close(1001, String(farewells[farewell].error.code));
  }

  /** Ends what runs and what waits, with an error if anybody still listens, and discards kept conversations. */
  function abort(why: Farewell | null): void {
    isClosed = true;
    const error = why === null ? null : farewells[why];
    const unanswered = [...onTheWay, ...[...lanes.values()].flatMap((lane) => lane.waiting.splice(0))];
    onTheWay.clear();
    waiting = 0;
    for (const one of unanswered)
      if (one instanceof Turn) one.cancel(error);
      else host.turnEnded('error');
    forgetAll();
  }

  function forgetAll(): void {
    for (const lane of lanes.values()) setLast(lane, null);
  }

  return {
    /** A text message of the client, in UTF-8. */
    message(data: Buffer): void {
      if (isClosed) return;
      unasked += 1;
      if (unasked > limits.maxUnasked) {
        refuseAll(data);
        return;
      }
      const message = readClientMessage(data, limits.maxValues);
      if ('status' in message) refuse(message, null, data);
      else if (message.type === 'steer') send(steerFailed(message));
      else if (message.type === 'interrupt') {
        // One that has ended meanwhile has told its client so.
        for (const turn of onTheWay) if (turn.interrupt(message.responseId)) return;
      } else if (farewell === null) createTurn(message.fields, message.streamId, data);
      else {
        farewellSaid = true;
        refuse(farewells[farewell], message.streamId, data);
      }
    },
    /** No new turn begins; running turns finish, and after the last the connection is closed. */
    end(why: Farewell): void {
      if (isClosed || farewell !== null) return;
      farewell = why;
      closeIfIdle();
    },
    abort,
    /** The message of a turn that has not ended, as it came; null for any other. */
    messageOf(number: number): Buffer | null {
      for (const lane of lanes.values())
        for (const turn of [lane.running, ...lane.waiting])
          if (turn instanceof Turn && turn.number === number) return turn.message;
      return null;
    },
    /** Whether the client reads more slowly than its turns are answered. */
    setBlocked(now: boolean): void {
      blocked = now;
      for (const { forwarded } of onTheWay)
        if (now) forwarded?.pause();
        else forwarded?.resume();
    },
  };
}
