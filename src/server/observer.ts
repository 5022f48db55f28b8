import type { Metadata } from '@grpc/grpc-js';
import type { Exchange, ExchangeSummary } from '../exchange/exchange.ts';
import type { HeaderMap } from '../exchange/types.ts';

/**
 * How a call ended: `done` after Envoy's own reset or half-close with the exchange over, `aborted` with it still open
 * (the client left, Envoy died), `protocol_error` and `crashed` by us.
 */
export type CallEnd = 'done' | 'aborted' | 'protocol_error' | 'crashed';

/** When things happened in a call, in milliseconds since its first message came. */
export interface CallTimes {
  /** The end of the call. */
  readonly duration: number;
  /** The first bytes for the client left; null if none did. */
  readonly firstByte: number | null;
  /** This process worked for the two legs; what came back to Envoy later, by a timer, is not in it. */
  readonly work: { readonly request: number; readonly response: number };
}

/** A call that is over. */
export interface EndedCall {
  readonly how: CallEnd;
  readonly summary: ExchangeSummary;
  readonly times: CallTimes;
  /** What was thrown, where something was. */
  readonly cause: unknown;
}

/** Watches exchanges: log, metrics, traces. Nothing it does may throw or wait, and nothing is called for each token. */
export interface ExchangeObserver {
  /** A call's first message came; `metadata` is what Envoy opened the call with. */
  started(exchange: Exchange, metadata: Metadata): ExchangeWatch;
}

/** Watches one exchange. */
export interface ExchangeWatch {
  /** The request's headers came. */
  asked?(headers: HeaderMap): void;
  /** Once, last. */
  ended(call: EndedCall): void;
}
