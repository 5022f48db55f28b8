import type { TurnError } from './errors.ts';
import type { TurnOutcome } from './turn.ts';

export interface WebSocketObserver {
  closed(connection: ClosedConnection): void;
  turnEnded(outcome: TurnOutcome): void;
  /** Called with the defect that a handler has thrown; its connection has ended. */
  failed(thrown: unknown): void;
  /** Called for a refused handshake, and for a message for which the proxy was not asked. */
  refused(refusal: WebSocketRefusal, message: Buffer | null): void;
}

/** The error that a handshake or a message got. */
export interface WebSocketRefusal extends TurnError {
  /** The id of the connection; null where a refused handshake had none. */
  readonly id: string | null;
  /** The number of the turn; null for a handshake, and for a message that did not become a turn. */
  readonly turn: number | null;
  readonly userAgent: string | null;
}

export interface ClosedConnection {
  /** The ids of its turns' requests begin with this id; `-turn-` and a number follow. */
  readonly id: string;
  /** The close code of the WebSocket; 1006 if there was no closing handshake. */
  readonly code: number;
  /** Why the service ended the connection; null if the client did. */
  readonly reason: string | null;
  readonly durationMs: number;
  readonly turns: Readonly<Partial<Record<TurnOutcome, number>>>;
  readonly bytesIn: number;
  readonly bytesOut: number;
}
