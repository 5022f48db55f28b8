import type { PassedOperation } from '../translate/operations/operation.ts';
import type { ResponseContext } from '../translate/shared/context.ts';
import type { UnknownType } from '../translate/shared/dropped.ts';
import type { Moves } from '../translate/shared/moves.ts';
import type { RequestEvent, ResponseEvent } from './types.ts';

/** The error for a message of Envoy's that may not come in this phase. It ends the gRPC call with a status; clients never see its text. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/**
 * The legal moves of the two legs: phase → event → the phases it may lead to. An event that a phase does not list is a protocol error of
 * Envoy's and ends the call; a move that is not listed is a bug in this service. `tick` is the passing of time, or a cut for want of memory.
 * `docs/architecture.md` shows both tables as diagrams, which are generated from here.
 */
export const requestMoves = {
  awaiting_headers: { request_headers: ['collecting_body', 'passing', 'passed', 'refused'] },
  collecting_body: {
    request_body: ['collecting_body', 'translated', 'answered', 'refused'],
    request_trailers: ['translated', 'answered', 'refused'],
  },
  // Envoy can send the end of a body twice (envoy#46237).
  translated: { request_body: ['translated'], request_trailers: ['translated'] },
  passing: { request_body: ['passing', 'passed'], request_trailers: ['passed'] },
  passed: { request_body: ['passed'], request_trailers: ['passed'] },
  // These messages were in flight when the immediate response was sent.
  answered: { request_body: ['answered'], request_trailers: ['answered'] },
  refused: { request_body: ['refused'], request_trailers: ['refused'] },
} as const satisfies Moves<RequestEvent['type']>;

export const responseMoves = {
  awaiting_headers: { response_headers: ['holding_headers', 'sending_body', 'passing', 'passed', 'ended'] },
  holding_headers: {
    response_body: ['holding_headers', 'sending_body', 'passing', 'ended'],
    response_trailers: ['ended'],
    tick: ['sending_body', 'ended'],
  },
  sending_body: {
    response_body: ['sending_body', 'ended'],
    response_trailers: ['ended'],
    tick: ['sending_body', 'ended'],
  },
  passing: { response_body: ['passing', 'passed'], response_trailers: ['passed'] },
  passed: { response_body: ['passed'], response_trailers: ['passed'] },
  // The client has the whole response; the upstream may still be sending.
  ended: { response_body: ['ended'], response_trailers: ['ended'] },
} as const satisfies Moves<ResponseEvent['type'] | 'tick'>;

export type RequestPhase = keyof typeof requestMoves;
export type ResponsePhase = keyof typeof responseMoves;

export function checkEvent(moves: Moves<string>, phase: string, event: string): void {
  if (moves[phase]?.[event] === undefined) throw new ProtocolError(`${event} came in the phase ${phase}.`);
}

export type RequestOutcome =
  /** `unseen`: Envoy has sent no message of the request. */
  | { readonly type: 'unseen' | 'open' }
  /** `operation` completes the answer, if it is not null. */
  | { readonly type: 'passed'; readonly operation: PassedOperation | null }
  /** `answered`: the client has its Response, and the upstream was not asked. */
  | {
      readonly type: 'translated' | 'answered';
      readonly context: ResponseContext;
      readonly dropped: readonly string[];
      readonly unknownTypes: readonly UnknownType[];
      /** Estimated input tokens of the upstream's request; null where no model answers it. */
      readonly inputTokens: number | null;
    };
