import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Exchange } from '../exchange/exchange.ts';
import { ProtocolError } from '../exchange/protocol-error.ts';
import type { BodyModes, ExchangeReply } from '../exchange/types.ts';
import type { DecodedRequest } from '../extproc/decode.ts';
import { encodeReply } from '../extproc/encode.ts';
import type { ProcessingResponse } from '../extproc/messages.ts';
import type { CallEnd, ExchangeObserver, ExchangeWatch } from './observer.ts';
import type { Ticker } from './ticker.ts';

export type ProcessCall = ServerDuplexStream<DecodedRequest, ProcessingResponse>;

export interface ProcessOptions {
  /** The exchange for this call, in the modes its first message names. */
  open(modes: BodyModes | null): OpenExchange;
  readonly observers: readonly ExchangeObserver[];
  readonly ticker: Ticker;
  /** Told of a mistake of ours that no observer can be told of. */
  readonly onFault: (thrown: unknown) => void;
}

export interface OpenExchange {
  readonly exchange: Exchange;
  /** The modes in force. */
  readonly modes: BodyModes;
  /** The call is over. */
  close(): void;
}

/** One call of Envoy from its first message to its end: the whole way of the data. */
export function processCall(call: ProcessCall, { open, observers, ticker, onFault }: ProcessOptions): void {
  let opened: OpenExchange | null = null;
  const watches: ExchangeWatch[] = [];
  let stopTicking = (): void => {};
  let over = false;

  call.on('data', ({ event, modes, observed }: DecodedRequest) => {
    if (over || observed) return;
    guarded(() => {
      const { exchange } = opened ?? start(modes);
      for (const watch of watches) watch.heard?.(event);
      send(exchange.handle(event));
    });
  });
  // A slow Envoy fills the window; then nothing more is read from it until it has taken what it was sent.
  call.on('drain', () => call.resume());
  call.on('end', () => {
    end('done');
    call.end();
  });
  // Envoy resets the call when it needs nothing more: the normal end, not a failure.
  call.on('cancelled', () => end('done'));
  call.on('error', () => end('aborted'));

  function start(modes: BodyModes | null): OpenExchange {
    const started = open(modes);
    opened = started;
    for (const observer of observers) watches.push(observer.started(started.exchange, call.metadata));
    stopTicking = ticker.add((at) => guarded(() => send(started.exchange.tick(at, call.isPaused()))));
    return started;
  }

  function send(replies: readonly ExchangeReply[]): void {
    for (const reply of replies) {
      for (const watch of watches) watch.replied?.(reply);
      if (opened !== null && !call.write(encodeReply(reply, opened.modes))) call.pause();
    }
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const known = thrown instanceof ProtocolError;
      if (!known && watches.length === 0) onFault(thrown);
      end(known ? 'protocol_error' : 'crashed', thrown);
      const details = known ? thrown.message : 'The service failed on this call.';
      call.emit('error', { code: known ? status.INVALID_ARGUMENT : status.INTERNAL, details });
    }
  }

  /** Never throws: it runs in event handlers, where that would end the process and every other call with it. */
  function end(how: CallEnd, cause?: unknown): void {
    if (over) return;
    over = true;
    stopTicking();
    opened?.close();
    const left = how === 'done' && opened?.exchange.summary().outcome === 'open';
    for (const watch of watches) {
      try {
        watch.ended(left ? 'aborted' : how, cause);
      } catch (thrown) {
        onFault(thrown);
      }
    }
  }
}
