import { Writable } from 'node:stream';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { Connection, type ConnectionSocket } from '../../src/service/websocket/connection.ts';
import { createConversations } from '../../src/service/websocket/conversations.ts';
import type { AnswerListener } from '../../src/service/websocket/turn.ts';

/** A connection without a socket: what it does is recorded, a line each, in the notation of test/golden/websocket.md. */
export interface WebSocketSession {
  readonly connection: Connection;
  /** What it has done since the last call. */
  take(): string[];
  /** Whether the proxy was asked that turn. */
  has(turn: number): boolean;
  /** The proxy's answer to the turn of that number. */
  answer(turn: number): AnswerListener;
}

export interface SessionOptions {
  readonly maxLanes?: number;
  readonly maxWaiting?: number;
  readonly maxUnasked?: number;
  /** Bytes of conversations that may be kept. */
  readonly maxKept?: number;
  /** Bytes of messages that may wait. */
  readonly maxHeld?: number;
  readonly maxEventBytes?: number;
  readonly maxErrorBytes?: number;
  readonly maxValues?: number;
  /** Why no turn can be sent to the proxy, which is known at once. */
  readonly unreachable?: string;
  /** False where what it does is not recorded: its memory is measured. */
  readonly records?: boolean;
}

const overload = new ApiError('The gateway is overloaded: too many bytes are buffered. Try again in 2s.', {
  status: 503,
  type: 'server_error',
  code: 'server_overloaded',
  headers: { 'retry-after': '2' },
});

/** A session with counted ids and a fixed clock. */
export function startWebSocketSession(
  options: SessionOptions = {},
): WebSocketSession & { readonly held: () => number; readonly untaken: () => number; readonly kept: () => number } {
  const { maxLanes = 8, maxWaiting = 32, maxKept = 1024 * 1024, maxHeld = 1024 * 1024 } = options;
  let lines: string[] = [];
  const record = (line: string) => {
    if (options.records !== false) lines.push(line);
  };
  let held = 0;
  let untakenBytes = 0;
  const answers = new Map<number, AnswerListener>();
  /** A proxy that does not read: it keeps what it is sent. */
  const proxy = new Writable({ write() {} });
  const conversations = createConversations((bytes) => {
    if (bytes > maxKept) conversations.evict(bytes - maxKept);
  });
  const host: ConnectionSocket = {
    limits: {
      maxLanes,
      maxWaiting,
      maxUnasked: options.maxUnasked ?? 128,
      maxEventBytes: options.maxEventBytes ?? 4096,
      maxErrorBytes: options.maxErrorBytes ?? 1024,
      maxValues: options.maxValues ?? 1000,
    },
    conversations,
    forward(body, number, answer) {
      record(`turn ${number}: ${Buffer.concat([...body]).toString()}`);
      if (options.records === false) for (const piece of body) proxy.write(piece);
      answers.set(number, answer);
      if (options.unreachable !== undefined) answer.broken(options.unreachable);
      return {
        pause: () => record(`paused: ${number}`),
        resume: () => record(`resumed: ${number}`),
        abort: () => record(`aborted: ${number}`),
      };
    },
    send: (text) => record(`server: ${text}`),
    close: (code, reason) => record(`close: ${code} ${reason}`),
    hold(bytes, untaken) {
      if (untaken > 0 && held + bytes > maxHeld) return overload;
      held += bytes;
      untakenBytes += untaken;
      return null;
    },
    refused: ({ error: { code } }) => record(`refused: ${code}`),
    turnEnded: (outcome) => record(`ended: ${outcome}`),
  };
  const connection = new Connection(host);
  return {
    connection,
    held: () => held,
    untaken: () => untakenBytes,
    kept: () => conversations.bytes,
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
    has: (turn) => answers.has(turn),
    answer(turn) {
      const answer = answers.get(turn);
      if (answer === undefined) throw new Error(`There is no turn ${turn}.`);
      return answer;
    },
  };
}

/** Performs what a line of a transcript does to the connection. False for a line that describes what the connection did. */
export function perform({ connection, answer }: WebSocketSession, line: string): boolean {
  const [, who = '', numbered, text = ''] = /^(\w+)(?: (\d+))?: ?(.*)$/s.exec(line) ?? [];
  const turn = Number(numbered ?? 1);
  switch (who) {
    case 'client':
      connection.message(Buffer.from(text));
      return true;
    case 'headers': {
      const [status, contentType = '', retryAfter = null] = text.split(' | ');
      answer(turn).headers({ status: Number(status), contentType, retryAfter });
      return true;
    }
    case 'event': {
      const { type } = JSON.parse(text) as { type: string };
      answer(turn).body(Buffer.from(`event: ${type}\ndata: ${text}\n\n`));
      return true;
    }
    case 'body':
      answer(turn).body(Buffer.from(text.replaceAll('\\n', '\n')));
      return true;
    case 'bytes':
      answer(turn).body(Buffer.from(text, 'hex'));
      return true;
    case 'end':
      answer(turn).end();
      return true;
    case 'broken':
      answer(turn).broken(text);
      return true;
    case 'ending':
      connection.end(text === 'time_limit' ? 'time_limit' : 'shutdown');
      return true;
    case 'gone':
      connection.abort(null);
      return true;
    case 'blocked':
      connection.setBlocked(text === 'yes');
      return true;
    default:
      return false;
  }
}
