import type { ExchangeSummary } from '../../filter/exchange/summary.ts';

/** The four bodies of an exchange: the request and the answer, each as the client and as the upstream has it. */
export type BodyName = 'client_request' | 'chat_request' | 'chat_response' | 'client_response';

export const bodyNames: readonly BodyName[] = ['client_request', 'chat_request', 'chat_response', 'client_response'];

/**
 * What comes before a body, redacted: names and values of headers in turn, with the pseudo headers `:method`, `:path` and
 * `:status`. One flat list, since thousands of small objects a second are slow to garbage-collect.
 */
export type Head = readonly string[];

/** How a head differs from the one it was made from, redacted: Envoy removes headers, then overwrites or adds some. */
export interface HeadChange {
  readonly set: Head;
  readonly remove: readonly string[];
}

/** What is known of an exchange as a whole; grows while it runs. */
export interface ExchangeFacts
  extends Pick<
    ExchangeSummary,
    | 'requestId'
    | 'profile'
    | 'model'
    | 'stream'
    | 'dropped'
    | 'status'
    | 'upstreamStatus'
    | 'errorCode'
    | 'finishReason'
    | 'tokens'
    | 'events'
  > {
  /** The program that sent the request, as its `user-agent` says. */
  readonly client: string | null;
  /** Null while it runs. */
  readonly outcome: string | null;
  /** What was thrown, with its stack and causes. */
  readonly cause: string | null;
  /** Milliseconds until it ended, and until its first delta; null while unknown. */
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
}

/** Records one exchange while it runs. Times are milliseconds since it began. No method throws or waits. */
export interface Recording {
  head(body: BodyName, head: Head): void;
  /** The head of `body` is that of `of` as it is now, with these changes; there is none if `of` has none. */
  changedHead(body: BodyName, of: BodyName, change: HeadChange): void;
  /** The upstream was not called after all: forgets what would have been sent to it. */
  withdraw(body: BodyName): void;
  /** A piece of a body. The bytes are copied. */
  piece(body: BodyName, atMs: number, bytes: Uint8Array): void;
  /** Bytes of a body that are not kept, because it is too long. */
  omit(body: BodyName, bytes: number): void;
  facts(facts: ExchangeFacts): void;
}

/** Where exchanges are recorded: the store of this process, or the supervisor's. */
export interface RecordingSink {
  /** `startedAt` is in Unix milliseconds. */
  open(startedAt: number): Recording;
}

/** Characters kept of the name of the program that sent a request. */
export const maxClientLength = 120;

/** Bytes kept of one exchange, all bodies together. */
export const maxExchangeBytes = 8 * 1024 * 1024;

/** How `npm start` identifies its readiness checks: they are not a user's requests, and are not recorded. */
export const probeAgent = 'responses-extproc-probe';
