import type { TurnError } from './errors.ts';
import type { TurnOutcome } from './turn.ts';

/** Callbacks for log and metrics. */
export interface WebSocketObserver {
  closed(connection: ClosedConnection): void;
  turnEnded(outcome: TurnOutcome): void;
  /** A defect: a handler has thrown this, and its connection has ended. */
  failed(thrown: unknown): void;
  /** A handshake was refused, or this message: one that is no turn, or a turn of which the proxy was not asked. */
  refused(refusal: WebSocketRefusal, message: Buffer | null): void;
}

/** An error sent on a connection, instead of one, or in place of one of its turns. */
export interface WebSocketRefusal extends TurnError {
  /** The connection's, as in `ClosedConnection`; null where the handshake had none. */
  readonly id: string | null;
  /** The turn's number; null for a handshake, and for a message that did not become a turn. */
  readonly turn: number | null;
  readonly userAgent: string | null;
}

/** A closed connection. */
export interface ClosedConnection {
  /** Prefix of its turns' request ids; `-turn-` and a number follow. */
  readonly id: string;
  /** The WebSocket's close code; 1006 when there was no closing handshake. */
  readonly code: number;
  /** Why this side ended it; null when the client did. */
  readonly reason: string | null;
  readonly durationMs: number;
  readonly turns: Readonly<Partial<Record<TurnOutcome, number>>>;
  /** Bytes on the socket, frames included. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}
