import type { ExchangeSummary } from '../../filter/exchange/summary.ts';

/** The four bodies of an exchange: the request and the answer, each as the client and as the upstream has it. */
export type BodyName = 'client_request' | 'chat_request' | 'chat_response' | 'client_response';

export const bodyNames: readonly BodyName[] = ['client_request', 'chat_request', 'chat_response', 'client_response'];

/** What is known of an exchange as a whole; grows while it runs. */
export interface ExchangeFacts
  extends Pick<
    ExchangeSummary,
    | 'requestId'
    | 'profile'
    | 'model'
    | 'stream'
    | 'dropped'
    | 'repairs'
    | 'status'
    | 'upstreamStatus'
    | 'errorCode'
    | 'finishReason'
    | 'tokens'
    | 'events'
  > {
  /** Null while it runs. */
  readonly outcome: string | null;
  /** What was thrown, with its stack and causes. */
  readonly cause: string | null;
  /** Milliseconds until it ended, and until its first delta; null while unknown. */
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
}

/** Bytes of a request's body that are looked at, after its compression was undone; what follows is not kept. */
export const maxRequestBytes = 8 * 1024 * 1024;

/** How `npm start` identifies its readiness checks: they are not a user's requests, and are not recorded. */
export const probeAgent = 'responses-extproc-probe';
