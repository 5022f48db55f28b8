import type { IncomingHttpHeaders } from 'node:http2';
import type { Exchange, ExchangeSummary } from '../../filter/index.ts';

/** The end of a call: `done` once the exchange was complete, `aborted` by Envoy or a client before, the others by this service. */
export type CallEnd = 'done' | 'aborted' | 'protocol_error' | 'crashed';

/** Times of a call in milliseconds, since its first message arrived. */
export interface CallTimes {
  readonly duration: number;
  /** The time at which the first bytes for the client were sent; null if none were. */
  readonly firstByte: number | null;
  /** The time at which the first delta of a stream was sent: text, reasoning or arguments; null if none was. */
  readonly firstToken: number | null;
  /** The time that this process worked on each leg, without replies that a timer has sent. */
  readonly work: { readonly request: number; readonly response: number };
}

/** The HTTP/2 headers with which a gRPC call was opened. */
export type CallMetadata = Readonly<IncomingHttpHeaders>;

export interface EndedCall {
  readonly exchange: Exchange;
  readonly metadata: CallMetadata;
  readonly how: CallEnd;
  readonly summary: ExchangeSummary;
  readonly times: CallTimes;
  readonly cause: unknown;
}

/** Observes calls that have ended, for log, metrics and traces. It may neither throw nor wait. */
export type ExchangeObserver = (call: EndedCall) => void;

/** Contains the exceptions of an observer, whose methods return nothing: each goes to `failed`, whose own are dropped. */
export function contain<Observer extends object>(observer: Observer, failed: (thrown: unknown) => void): Observer {
  const run = (call: () => void, onThrown: (thrown: unknown) => void) => {
    try {
      call();
    } catch (thrown) {
      onThrown(thrown);
    }
  };
  const report = (thrown: unknown) =>
    run(
      () => failed(thrown),
      () => {},
    );
  const hooks = Object.entries(observer).map(([name, hook]) => [
    name,
    (...given: unknown[]) => run(() => hook(...given), report),
  ]);
  return Object.fromEntries(hooks) as Observer;
}
