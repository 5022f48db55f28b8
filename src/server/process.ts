import { performance } from 'node:perf_hooks';
import { status } from '@grpc/grpc-js';
import type { Exchange } from '../exchange/exchange.ts';
import { ProtocolError } from '../exchange/protocol-error.ts';
import type { Steps } from '../exchange/steps.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, RequestEvent } from '../exchange/types.ts';
import type { DecodedRequest } from '../extproc/decode.ts';
import { deserializeRequest } from '../extproc/deserialize-request.ts';
import { serializeReply } from '../extproc/serialize-reply.ts';
import type { CallEnd, CallTimes, ExchangeObserver, ExchangeWatch } from '../telemetry/observer.ts';
import type { GrpcCall, GrpcCallListener } from './grpc-call.ts';
import { FRAME_HEAD_BYTES } from './message-frames.ts';
import type { Ticker, TickListener } from './ticker.ts';

export interface ProcessOptions {
  /** The exchange for this call, in the modes its first message names. */
  open(modes: BodyModes | null): OpenExchange;
  readonly observers: readonly ExchangeObserver[];
  readonly ticker: Ticker;
  /** Milliseconds within which the first message must arrive. */
  readonly firstMessageMs: number;
  /** Called with a defect of ours that no observer can be told of. */
  readonly onFault: (thrown: unknown) => void;
}

export interface OpenExchange {
  readonly exchange: Exchange;
  /** The modes in force. */
  readonly modes: BodyModes;
  /** Releases what the exchange reserved; the call has ended. */
  close(): void;
}

/** One call of Envoy from its first message to its end: the complete data path. */
export function processCall(call: GrpcCall, options: ProcessOptions): GrpcCallListener {
  return new ProcessCall(call, options);
}

/**
 * Fast path: a class rather than closures, so that a token that arrives alone finds all of the call's state in one
 * object. Delete it when `npm run bench -- --only envoy` shows no difference without it.
 */
class ProcessCall implements GrpcCallListener, TickListener {
  tickSlot = -1;
  readonly #call: GrpcCall;
  readonly #options: ProcessOptions;
  #opened: OpenExchange | null = null;
  #watches: ExchangeWatch[] = [];
  /** While a large body is translated in steps: the messages that came meanwhile. */
  #waiting: ExchangeEvent[] | null = null;
  /** No message has come yet. */
  #silent = true;
  #over = false;
  /** When the call was opened, then when its first message arrived. */
  #startedAt = performance.now();
  #firstByteAt = Number.NaN;
  #firstTokenAt = Number.NaN;
  #requestMs = 0;
  #responseMs = 0;

  constructor(call: GrpcCall, options: ProcessOptions) {
    this.#call = call;
    this.#options = options;
    options.ticker.add(this);
  }

  message(bytes: Buffer): void {
    if (this.#over) return;
    this.#silent = false;
    try {
      const { event, modes, observed } = decodeMessage(bytes);
      if (observed) return;
      if (this.#waiting === null) this.#onEvent(event, modes);
      else this.#waiting.push(event);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  tick(at: number): void {
    if (this.#silent && at - this.#startedAt >= this.#options.firstMessageMs) this.#giveUp();
    if (this.#opened === null || this.#waiting !== null) return;
    try {
      this.#send(this.#opened, this.#opened.exchange.tick(at, this.#call.isBlocked()));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  halfClosed(): void {
    this.#end('done');
    this.#call.end({ code: status.OK, details: 'OK' });
  }

  /** Envoy resets the call when it needs nothing more: the normal end, not an error. */
  closed(): void {
    this.#end('done');
  }

  /** A call without a message counts nowhere, and would stay for as long as its connection does. */
  #giveUp(): void {
    this.#end('done');
    this.#call.end({ code: status.DEADLINE_EXCEEDED, details: 'No message came on this call.' });
  }

  #onEvent(event: ExchangeEvent, modes: BodyModes | null): void {
    const startedAt = performance.now();
    const opened = this.#opened ?? this.#start(modes, startedAt);
    if (event.type === 'request_headers') for (const watch of this.#watches) watch.onRequestHeaders?.(event.headers);
    if (isRequestEvent(event) && opened.exchange.isLarge(event)) {
      this.#startSteps(opened, opened.exchange.handleInSteps(event));
      return;
    }
    this.#send(opened, opened.exchange.handle(event));
    const elapsed = performance.now() - startedAt;
    if (isRequestEvent(event)) this.#requestMs += elapsed;
    else this.#responseMs += elapsed;
  }

  /** Takes the steps one at a time; messages of this call wait for the last, other calls do not. */
  #startSteps(opened: OpenExchange, steps: Steps<ExchangeReply[]>): void {
    this.#waiting = [];
    const next = () => {
      if (this.#over) return;
      const startedAt = performance.now();
      try {
        const step = steps.next();
        this.#requestMs += performance.now() - startedAt;
        if (!step.done) {
          setImmediate(next);
          return;
        }
        this.#send(opened, step.value);
        const waiting = this.#waiting ?? [];
        this.#waiting = null;
        for (const event of waiting) this.#onEvent(event, null);
      } catch (thrown) {
        this.#fail(thrown);
      }
    };
    next();
  }

  #start(modes: BodyModes | null, at: number): OpenExchange {
    const { open, observers } = this.#options;
    const opened = open(modes);
    this.#opened = opened;
    this.#startedAt = at;
    for (const observer of observers) this.#watches.push(observer.onStart(opened.exchange, this.#call.metadata));
    return opened;
  }

  #send({ exchange, modes }: OpenExchange, replies: readonly ExchangeReply[]): void {
    for (const reply of replies) {
      if (Number.isNaN(this.#firstByteAt) && hasBytesForClient(reply)) this.#firstByteAt = performance.now();
      this.#call.send(serializeReply(reply, modes, FRAME_HEAD_BYTES));
    }
    if (Number.isNaN(this.#firstTokenAt) && exchange.hasToken()) this.#firstTokenAt = performance.now();
  }

  #fail(thrown: unknown): void {
    const known = thrown instanceof ProtocolError;
    if (!known && this.#watches.length === 0) this.#options.onFault(thrown);
    this.#end(known ? 'protocol_error' : 'crashed', thrown);
    const details = known ? thrown.message : 'The service failed on this call.';
    this.#call.end({ code: known ? status.INVALID_ARGUMENT : status.INTERNAL, details });
  }

  /** Never throws: it runs in event handlers, where an exception would end the process and every other call with it. */
  #end(how: CallEnd, cause?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.ticker.remove(this);
    const opened = this.#opened;
    if (opened === null) return;
    const watches = this.#watches;
    // Node's Map of streams may keep this call for long (see `Http2Call`): one that is over holds nothing large.
    this.#opened = null;
    this.#watches = [];
    opened.close();
    const summary = opened.exchange.summary();
    const aborted = how === 'done' && summary.outcome === 'open';
    const ended = { how: aborted ? 'aborted' : how, summary, times: this.#times(), cause } as const;
    for (const watch of watches) {
      try {
        watch.onEnd(ended);
      } catch (thrown) {
        this.#options.onFault(thrown);
      }
    }
  }

  #times(): CallTimes {
    return {
      duration: performance.now() - this.#startedAt,
      firstByte: Number.isNaN(this.#firstByteAt) ? null : this.#firstByteAt - this.#startedAt,
      firstToken: Number.isNaN(this.#firstTokenAt) ? null : this.#firstTokenAt - this.#startedAt,
      work: { request: this.#requestMs, response: this.#responseMs },
    };
  }
}

function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  const { type } = event;
  return type === 'request_body' || type === 'request_headers' || type === 'request_trailers';
}

function hasBytesForClient(reply: ExchangeReply): boolean {
  if (reply.type === 'response_body') return (reply.body?.length ?? 0) > 0;
  return reply.type === 'immediate_response';
}

/** Throws `ProtocolError`. */
function decodeMessage(bytes: Buffer): DecodedRequest {
  try {
    return deserializeRequest(bytes);
  } catch (cause) {
    throw cause instanceof ProtocolError
      ? cause
      : new ProtocolError('The message is not a ProcessingRequest.', { cause });
  }
}
