import type { Buffer } from 'node:buffer';
import type { ApiError } from '../../filter/wire/schema/api-error.ts';
import { readClientMessage, steerFailed } from './client-message.ts';
import type { Conversation, Conversations } from './conversations.ts';
import { errorMessage, invalid, type TurnError } from './errors.ts';
import type { RawFields } from './raw-fields.ts';
import { type ForwardTurn, Turn, type TurnHost, type TurnLimits, type TurnOutcome } from './turn.ts';

export interface ConnectionLimits extends TurnLimits {
  /** Maximum lanes at once, the unnamed one included. */
  readonly maxLanes: number;
  /** Maximum turns waiting for others, on all lanes together. */
  readonly maxWaiting: number;
}

/** What the connection to the proxy takes, with a turn on it. */
const proxyConnectionBytes = 40 * 1024;

/** The effects of a connection, and its dependencies. */
export interface ConnectionHost {
  readonly limits: ConnectionLimits;
  readonly conversations: Conversations;
  readonly forward: ForwardTurn;
  send(text: string): void;
  /** Closes the WebSocket once everything sent has left. Called at most once. */
  close(code: number, reason: string): void;
  /** Counts the bytes of a message whose turn has not ended; returns the error for its client if there is no room for them. */
  hold(bytes: number): ApiError | null;
  /** The proxy has all of them: they are not to be parsed any more. */
  taken(bytes: number): void;
  /** So many more bytes are kept for its turn; fewer if negative. */
  keepBytes(bytes: number): void;
  /** A message will get this error in its place, or a turn of which the proxy was not asked. */
  refused(error: TurnError, message: Buffer | null): void;
  turnEnded(outcome: TurnOutcome): void;
}

/** Why the service ends a connection: its time limit, or the shutdown of the service. */
export type Farewell = 'time_limit' | 'shutdown';

export const farewells: Readonly<Record<Farewell, { readonly code: string; readonly message: string }>> = {
  time_limit: {
    code: 'websocket_connection_limit_reached',
    message: 'The connection has reached its time limit: open a new one, and send the whole conversation as `input`.',
  },
  shutdown: {
    code: 'server_shutting_down',
    message: 'The server is going away: open a new connection, and send the whole conversation as `input`.',
  },
};

/** The protocol of one WebSocket: lanes of turns, and the response that the next turn of each may continue. */
export interface Connection {
  /** A text message of the client, in UTF-8. */
  message(data: Buffer): void;
  /** No new turn begins; running turns finish, and after the last the connection is closed. */
  end(why: Farewell): void;
  /** Running turns are aborted, with an error if anybody still listens, and kept conversations are discarded. */
  abort(why: Farewell | null): void;
  /** The message of a turn that has not ended, as it came; null for any other. */
  messageOf(turn: number): Buffer | null;
  /** Whether the client reads more slowly than its turns are answered. */
  setBlocked(blocked: boolean): void;
}

interface Lane {
  readonly streamId: string | null;
  running: Turn | null;
  /** Turns, and the errors of messages that were refused meanwhile: each is answered in its place. */
  readonly waiting: (Turn | TurnError)[];
  /** Its last response that can be continued. */
  last: Conversation | null;
}

/** A new connection that is open. */
export function createConnection(host: ConnectionHost): Connection {
  const { limits, conversations } = host;
  /** By `stream_id`, in the order of their last turns; null is the lane without one. */
  const lanes = new Map<string | null, Lane>();
  /** Turns whose answer has not ended, in any phase. */
  const onTheWay = new Set<Turn>();
  /** Of turns that have not ended, by number, as they came. Not for as long as the proxy may go on with the answer. */
  const messages = new Map<number, Buffer>();
  let isClosed = false;
  let farewell: Farewell | null = null;
  let farewellSaid = false;
  let waiting = 0;
  let number = 0;
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
    else if (waiting > 2 * limits.maxWaiting) {
      host.turnEnded('error');
      abort(null);
      host.close(1008, 'too_many_waiting_responses');
    } else {
      lane.waiting.push(error);
      waiting += 1;
    }
  }

  function sendError(error: TurnError, streamId: string | null): void {
    host.send(errorMessage(error, streamId));
    host.turnEnded('error');
  }

  /** The least recently used lane without a turn, where a new lane has to replace one; null if all are busy. */
  function replaceable(): Lane | null {
    return [...lanes.values()].find(({ running }) => running === null) ?? null;
  }

  /** The lane of that name; a new one may replace another. */
  function laneOf(streamId: string | null): Lane {
    const known = lanes.get(streamId);
    if (known !== undefined) {
      lanes.delete(streamId);
      lanes.set(streamId, known);
      return known;
    }
    const replaced = lanes.size < limits.maxLanes ? null : replaceable();
    if (replaced !== null) {
      setLast(replaced, null);
      lanes.delete(replaced.streamId);
    }
    const lane: Lane = { streamId, running: null, waiting: [], last: null };
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
        next.cancel(farewellError(farewell));
      } else {
        lane.running = next;
        onTheWay.add(next);
        next.start();
      }
    }
  }

  function createTurn(fields: RawFields, streamId: string | null, message: Buffer): void {
    const bytes = message.length;
    const known = lanes.get(streamId);
    if (known === undefined && lanes.size >= limits.maxLanes && replaceable() === null) {
      const text = `There are ${limits.maxLanes} lanes already, and all of them are busy.`;
      refuse(tooMany('too_many_lanes', 'stream_id', text), streamId, message);
      return;
    }
    if (known !== undefined && known.running !== null && waiting >= limits.maxWaiting) {
      const text = `${limits.maxWaiting} requests are waiting on this connection already: wait for a response.`;
      refuse(tooMany('too_many_waiting_responses', null, text), streamId, message);
      return;
    }
    const overload = host.hold(bytes);
    if (overload !== null) {
      refuse({ status: overload.status, error: overload.toObject(), headers: overload.headers }, streamId, message);
      return;
    }
    // Only now, since it may take another lane's conversation.
    const lane = laneOf(streamId);
    let kept = bytes;
    let untaken = bytes;
    number += 1;
    const thisTurn = number;
    messages.set(thisTurn, message);
    const turnHost: TurnHost = {
      limits,
      forward(body, ofTurn, answer) {
        turnHost.keepBytes(proxyConnectionBytes);
        const forwarded = host.forward(body, ofTurn, answer);
        if (blocked) forwarded.pause();
        return forwarded;
      },
      taken() {
        host.taken(untaken);
        untaken = 0;
      },
      answerEnded: () => onTheWay.delete(turn),
      send: host.send,
      find,
      keep: (conversation) => setLast(lane, conversation),
      evict(responseId) {
        for (const candidate of lanes.values()) if (candidate.last?.responseId === responseId) setLast(candidate, null);
      },
      keepBytes(more) {
        kept += more;
        if (more > 0) host.keepBytes(more);
      },
      refused: (error) => host.refused(error, messages.get(thisTurn) ?? null),
      ended(outcome) {
        messages.delete(thisTurn);
        host.keepBytes(-kept);
        if (!turn.isOnTheWay) onTheWay.delete(turn);
        host.turnEnded(outcome);
        turnEnded(lane, turn);
      },
    };
    const turn = new Turn(fields, streamId, thisTurn, turnHost);
    lane.waiting.push(turn);
    waiting += 1;
    startNext(lane);
  }

  function turnEnded(lane: Lane, turn: Turn): void {
    if (lane.running === turn) lane.running = null;
    if (isClosed) return;
    startNext(lane);
    closeIfIdle();
  }

  function closeIfIdle(): void {
    if (isClosed || farewell === null) return;
    if ([...lanes.values()].some(({ running }) => running !== null)) return;
    isClosed = true;
    sayFarewell(farewell);
  }

  function sayFarewell(why: Farewell): void {
    if (!farewellSaid && why === 'time_limit') host.send(errorMessage(farewellError(why), null));
    forgetAll();
    host.close(1001, farewells[why].code);
  }

  /** Ends what runs and what waits. */
  function abort(why: Farewell | null): void {
    isClosed = true;
    const error = why === null ? null : farewellError(why);
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
    message(data) {
      if (isClosed) return;
      const message = readClientMessage(data, limits.maxValues);
      switch (message.type) {
        case 'invalid':
          refuse(message.error, message.streamId, data);
          return;
        case 'steer':
          host.send(steerFailed(message));
          return;
        case 'interrupt':
          // One that has ended meanwhile has told its client so.
          for (const turn of onTheWay) if (turn.interrupt(message.responseId)) return;
          return;
        case 'create':
          if (farewell === null) createTurn(message.fields, message.streamId, data);
          else {
            farewellSaid = true;
            refuse(farewellError(farewell), message.streamId, data);
          }
      }
    },
    end(why) {
      if (isClosed || farewell !== null) return;
      farewell = why;
      closeIfIdle();
    },
    abort,
    messageOf: (turn) => messages.get(turn) ?? null,
    setBlocked(now) {
      blocked = now;
      for (const turn of onTheWay)
        if (now) turn.pause();
        else turn.resume();
    },
  };
}

function tooMany(code: string, param: string | null, message: string): TurnError {
  return { status: 429, error: { type: 'too_many_requests', code, param, message } };
}

function farewellError(why: Farewell): TurnError {
  const { code, message } = farewells[why];
  // The time limit is an error for the client (OpenAI sends 400); a server that shuts down is not.
  if (why === 'time_limit') return invalid(code, null, message);
  return { status: 503, error: { type: 'server_error', code, param: null, message } };
}
