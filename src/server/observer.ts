import type { Metadata } from '@grpc/grpc-js';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeEvent, ExchangeReply } from '../exchange/types.ts';

/**
 * How a call ended: `done` after Envoy's own reset or half-close with the exchange over, `aborted` with it still open
 * (the client left, Envoy died), `protocol_error` and `crashed` by us.
 */
export type CallEnd = 'done' | 'aborted' | 'protocol_error' | 'crashed';

/** Watches exchanges: log, metrics, traces. Nothing it does may throw or wait. */
export interface ExchangeObserver {
  /** A call's first message came; `metadata` is what Envoy opened the call with. */
  started(exchange: Exchange, metadata: Metadata): ExchangeWatch;
}

/** Watches one exchange. */
export interface ExchangeWatch {
  heard?(event: ExchangeEvent): void;
  replied?(reply: ExchangeReply): void;
  /** Once, last. `cause` is what was thrown, where something was. */
  ended(how: CallEnd, cause?: unknown): void;
}
