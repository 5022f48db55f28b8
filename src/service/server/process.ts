import { performance } from 'node:perf_hooks';
import { status } from '@grpc/grpc-js';
import {
  type ApiError,
  type BodyModes,
  deserializeRequest,
  type Exchange,
  type ExchangeEvent,
  type ExchangeReply,
  isRequestEvent,
  type Pace,
  ProtocolError,
  type Replies,
  serializeReply,
} from '../../filter/index.ts';
import type { Admission, Holder } from '../memory/overload.ts';
import type { CallEnd, CallTimes, ExchangeObserver } from '../telemetry/observer.ts';
import type { GrpcCall, GrpcCallListener } from './grpc-call.ts';
import { frameHeadBytes } from './message-frames.ts';
import type { StepQueue } from './step-queue.ts';
import type { Ticker, TickListener } from './ticker.ts';

export interface ProcessOptions {
  /** The exchange for this call, in the modes its first message names. */
  open(modes: BodyModes | null, holder: Holder): OpenExchange;
  /** Called with the bytes of each message. */
  readonly worked: (bytes: number) => void;
  /** The error for a body that has waited too long for its turn. */
  readonly waitedTooLong: () => ApiError | null;
  /** Milliseconds after which it has. */
  readonly longestWaitMs: number;
  /** Where bodies wait for their turn; those of one step do not wait for those of many. */
  readonly queues: Readonly<Record<Exclude<Pace, 'at_once'>, StepQueue>>;
  readonly observers: readonly ExchangeObserver[];
  readonly ticker: Ticker;
  /** Milliseconds within which the first message must arrive. */
  readonly firstMessageMs: number;
  /** Called with an internal error that no observer can be notified of. */
  readonly onFault: (thrown: unknown) => void;
}

export interface OpenExchange {
  readonly exchange: Exchange;
  /** The modes in force. */
  readonly modes: BodyModes;
  /** Memory that the call holds; null where nothing counts that. */
  readonly admission: Admission | null;
}

/**
 * A piece of an answer takes a turn from this size on: more than comes of a model's tokens at once. One read of a connection may
 * have such pieces of many streams, and 60 kB of the costliest events take some 10 ms.
 */
const burstBytes = 32 * 1024;

/**
 * One call of Envoy from its first message to its end: the complete data path. A class rather than closures, so that a token
 * that arrives alone finds all of the call's state in one object.
 */
export class ProcessCall implements GrpcCallListener, TickListener, Holder {
  tickSlot = -1;
  readonly #call: GrpcCall;
  readonly #options: ProcessOptions;
  #opened: OpenExchange | null = null;
  /** A message waits for its turn, is handled in steps, or has a long answer. */
  #isBusy = false;
  /** Messages that arrived meanwhile. */
  #waiting: Buffer[] = [];
  /** The replies of a long answer that have not been generated yet. */
  #long: Iterator<ExchangeReply, void> | null = null;
  /** The caller half-closed meanwhile. */
  #isHalfClosed = false;
  /** No message has arrived yet. */
  #silent = true;
  #over = false;
  /** When the call was opened, then when its first message arrived. */
  #startedAt = performance.now();
  #firstByteAt = Number.NaN;
  #firstTokenAt = Number.NaN;
  #isPaused = false;
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
      this.#options.worked(bytes.length);
      // For want of memory the guard may have failed this very call.
      if (this.#over) return;
      if (this.#isBusy) this.#waiting.push(bytes);
      else this.#onMessage(bytes);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  tick(at: number): void {
    // A call without a message is counted nowhere, and would last as long as its connection.
    if (this.#silent && at - this.#startedAt >= this.#options.firstMessageMs) {
      this.#end('done');
      this.#call.end({ code: status.DEADLINE_EXCEEDED, details: 'No message came on this call.' });
    }
    // Always called: it also detects that the call was reset.
    const isBlocked = this.#call.isBlocked();
    if (this.#opened === null) return;
    try {
      const hearsNothing = isBlocked || this.#isPaused || this.#isBusy;
      this.#reply(this.#opened, this.#opened.exchange.tick(at, hearsNothing));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  blocked(bytes: number): void {
    this.#opened?.admission?.setUnsent(bytes);
  }

  drained(): void {
    this.#opened?.admission?.setUnsent(0);
    if (this.#long !== null) this.#sendLong();
  }

  pause(): void {
    this.#isPaused = true;
    this.#call.pause();
  }

  resume(): void {
    this.#isPaused = false;
    // Nothing is read while a message waits for its turn.
    if (!this.#isBusy || this.#long !== null) this.#call.resume();
  }

  shed(error: ApiError): void {
    try {
      const opened = this.#opened;
      // A client that does not read would not read this either, and half an event cannot be ended in another way.
      const canSay = opened !== null && this.#long === null && !this.#call.isBlocked();
      const replies = canSay ? opened.exchange.shed(error) : null;
      if (opened !== null && replies !== null) {
        this.#reply(opened, replies);
        this.resume();
        return;
      }
      this.#end('done');
      // Of a status the proxy makes a 503 where no answer has begun. One that reads nothing would not read that either.
      if (this.#call.isBlocked()) this.#call.cancel();
      else this.#call.end({ code: status.RESOURCE_EXHAUSTED, details: error.message });
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  halfClosed(): void {
    if (this.#isBusy) {
      this.#isHalfClosed = true;
      return;
    }
    this.#end('done');
    this.#call.end({ code: status.OK, details: 'OK' });
  }

  /** Envoy resets the call when it needs nothing more: the normal end, not an error. */
  closed(): void {
    this.#end('done');
  }

  /** Throws `ProtocolError` for a message that may not come now. */
  #onMessage(bytes: Buffer): void {
    const { event, modes, observed } = deserializeRequest(bytes);
    if (observed) return;
    const startedAt = performance.now();
    if (this.#opened === null) {
      this.#opened = this.#options.open(modes, this);
      this.#startedAt = startedAt;
    }
    const opened = this.#opened;
    const pace = paceOf(event, opened.exchange);
    if (pace === 'in_steps' || (pace === 'in_turn' && !this.#options.queues.in_turn.hasTime())) {
      this.#enqueue(opened, event, pace);
      return;
    }
    this.#reply(opened, opened.exchange.repliesTo(event));
    this.#worked(event, startedAt);
  }

  /** Handles the message in its turn, or in steps; messages of this call wait for it, other calls do not. */
  #enqueue(opened: OpenExchange, event: ExchangeEvent, pace: Exclude<Pace, 'at_once'>): void {
    const { exchange } = opened;
    const { waitedTooLong, longestWaitMs } = this.#options;
    const addedAt = performance.now();
    const refusal = () => (performance.now() - addedAt > longestWaitMs ? waitedTooLong() : null);
    const steps = pace === 'in_steps' && isRequestEvent(event) ? exchange.handleInSteps(event, refusal) : null;
    this.#isBusy = true;
    this.#call.pause();
    this.#options.queues[pace].add(() => {
      if (this.#over) return true;
      const startedAt = performance.now();
      try {
        const step = steps?.next() ?? { done: true, value: exchange.repliesTo(event) };
        this.#worked(event, startedAt);
        if (!step.done) return false;
        if (!this.#isPaused) this.#call.resume();
        this.#reply(opened, step.value);
        if (Array.isArray(step.value)) this.#goOn();
      } catch (thrown) {
        this.#fail(thrown);
      }
      return true;
    });
  }

  /** Takes the messages that have come meanwhile, until one of them is long too, and then the end. */
  #goOn(): void {
    this.#isBusy = false;
    for (let bytes = this.#next(); bytes !== undefined; bytes = this.#next()) this.#onMessage(bytes);
    if (this.#isHalfClosed && !this.#isBusy && !this.#over) this.halfClosed();
  }

  #next(): Buffer | undefined {
    return this.#isBusy || this.#over ? undefined : this.#waiting.shift();
  }

  #worked(event: ExchangeEvent, startedAt: number): void {
    const elapsed = performance.now() - startedAt;
    if (isRequestEvent(event)) this.#requestMs += elapsed;
    else this.#responseMs += elapsed;
  }

  #reply(opened: OpenExchange, replies: Replies): void {
    if (Array.isArray(replies)) {
      this.#send(opened, replies);
      return;
    }
    this.#isBusy = true;
    this.#long = replies;
    this.#sendLong();
  }

  /** Sends as much of a long answer as the caller reads; the rest is not generated before that. */
  #sendLong(): void {
    try {
      while (this.#opened !== null && this.#long !== null && this.#call.hasRoom()) {
        const { done, value } = this.#long.next();
        if (!done) {
          this.#send(this.#opened, [value]);
          continue;
        }
        this.#long = null;
        this.#goOn();
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #send({ exchange, modes }: OpenExchange, replies: readonly ExchangeReply[]): void {
    for (const reply of replies) {
      if (Number.isNaN(this.#firstByteAt) && hasBytesForClient(reply)) this.#firstByteAt = performance.now();
      this.#call.send(serializeReply(reply, modes, frameHeadBytes));
    }
    if (Number.isNaN(this.#firstTokenAt) && exchange.hasToken()) this.#firstTokenAt = performance.now();
  }

  #fail(thrown: unknown): void {
    const known = thrown instanceof ProtocolError;
    if (!known && this.#opened === null) this.#options.onFault(thrown);
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
    // Node's Map of streams may keep this call for long (see `Http2Call`): one that is over holds nothing large.
    this.#opened = null;
    this.#long = null;
    this.#waiting = [];
    opened.admission?.release();
    const { exchange } = opened;
    const summary = exchange.summary();
    const aborted = how === 'done' && summary.outcome === 'open';
    const { metadata } = this.#call;
    const ended = { exchange, metadata, how: aborted ? 'aborted' : how, summary, times: this.#times(), cause } as const;
    for (const observer of this.#options.observers) {
      try {
        observer(ended);
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

function paceOf(event: ExchangeEvent, exchange: Exchange): Pace {
  if (isRequestEvent(event)) return exchange.pace(event);
  return event.type === 'response_body' && event.body.length > burstBytes ? 'in_turn' : 'at_once';
}

function hasBytesForClient(reply: ExchangeReply): boolean {
  if (reply.type === 'response_body') return (reply.body?.length ?? 0) > 0;
  return reply.type === 'immediate_response';
}
