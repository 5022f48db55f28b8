import type { IncomingHttpHeaders } from 'node:http2';
import type { Exchange, ExchangeSummary } from '../../filter/index.ts';

/**
 * How a call ended: `done` after Envoy's own reset or half-close once the exchange was complete, `aborted` while it was
 * still open (the client disconnected, Envoy died), `protocol_error` and `crashed` by us.
 */
export type CallEnd = 'done' | 'aborted' | 'protocol_error' | 'crashed';

/** Times of a call, in milliseconds since its first message arrived. */
export interface CallTimes {
  /** Until the call ended. */
  readonly duration: number;
  /** Until the first bytes for the client were sent; null if none were. */
  readonly firstByte: number | null;
  /** Until the first delta of a stream was sent: text, reasoning or arguments; null if none was. */
  readonly firstToken: number | null;
  /** Time this process spent working on each leg; replies sent later by a timer are not counted. */
  readonly work: { readonly request: number; readonly response: number };
}

/** The metadata with which a gRPC call was opened, sent as HTTP/2 headers. Names are in lower case. */
export type CallMetadata = Readonly<IncomingHttpHeaders>;

/** A call that has ended. */
export interface EndedCall {
  readonly exchange: Exchange;
  readonly metadata: CallMetadata;
  readonly how: CallEnd;
  readonly summary: ExchangeSummary;
  readonly times: CallTimes;
  /** The value that was thrown, if any was. */
  readonly cause: unknown;
}

/** Observes exchanges that have ended: log, metrics, traces. May neither throw nor wait. */
export type ExchangeObserver = (call: EndedCall) => void;

/**
 * The same observer, whose exceptions are its own: `failed` is told of each, and what is observed goes on. An observer gives nothing back.
 */
export function contain<Observer extends object>(observer: Observer, failed: (thrown: unknown) => void): Observer {
  const hooks = Object.entries(observer).map(([name, hook]) => [name, (...given: unknown[]) => run(hook, given)]);
  const run = (hook: (...given: unknown[]) => void, given: readonly unknown[]) => {
    try {
      hook(...given);
    } catch (thrown) {
      report(thrown);
    }
  };
  const report = (thrown: unknown) => {
    try {
      failed(thrown);
    } catch {
      // There is nobody left to tell.
    }
  };
  return Object.fromEntries(hooks) as Observer;
}
