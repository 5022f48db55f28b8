import { performance } from 'node:perf_hooks';
import { status } from '@grpc/grpc-js';
import {
  type ApiError,
  type BodyModes,
  checkMove,
  deserializeRequest,
  type Exchange,
  type ExchangeEvent,
  type ExchangeReply,
  ProtocolError,
  type Replies,
  type Schedule,
  serializeReply,
} from '../../filter/index.ts';
import type { Admission, Holder } from '../memory/overload.ts';
import type { CallEnd, CallMetadata, CallTimes, ExchangeObserver } from '../telemetry/observer.ts';
import { type CallMove, callMoves } from './call-phases.ts';
import type { GrpcCall, GrpcCallListener } from './grpc-call.ts';
import { frameHeadBytes } from './message-frames.ts';
import type { StepQueue } from './step-queue.ts';
import type { Ticker, TickListener } from './ticker.ts';

export interface ProcessOptions {
  /** Opens the exchange of a call, in the modes that its first message names. */
  open(metadata: CallMetadata, modes: BodyModes | null, holder: Holder): OpenExchange;
  /** Called with the size of each message. */
  readonly worked: (bytes: number) => void;
  /** Returns the error for a body that has waited too long in a queue. */
  readonly refusalAfter: (waitedMs: number) => ApiError | null;
  /** Bodies of one step wait for each other, but not for bodies of many steps. */
  readonly queues: Readonly<Record<Exclude<Schedule, 'at_once'>, StepQueue>>;
  readonly observers: readonly ExchangeObserver[];
  readonly ticker: Ticker;
  /** Milliseconds within which the first message must arrive. */
  readonly firstMessageMs: number;
  /** Called with an internal error that no observer is told. */
  readonly onFault: (thrown: unknown) => void;
}

export interface OpenExchange {
  readonly exchange: Exchange;
  readonly modes: BodyModes;
  /** Memory that the call holds; null where nothing counts that. */
  readonly admission: Admission | null;
}

/** A message; null is the caller's half-close. */
type Arrived = Buffer | null;
type Idle = { readonly phase: 'idle'; readonly opened: OpenExchange };
/** A message waits in a queue, or is handled in steps; `waiting` has what arrived after it. */
type Queued = { readonly phase: 'queued'; readonly opened: OpenExchange; readonly waiting: Arrived[] };
type Sending = Omit<Queued, 'phase'> & { readonly phase: 'sending'; readonly replies: Iterator<ExchangeReply, void> };
type CallState = { readonly phase: 'silent' | 'observed' | 'over' } | Idle | Queued | Sending;

/**
 * One call of Envoy from its first message to its end: the complete data path. It is a class because closures would spread its state
 * over several objects, which a token that arrives alone would not find in the CPU's cache.
 */
export class ProcessCall implements GrpcCallListener, TickListener, Holder {
  tickSlot = -1;
  readonly #call: GrpcCall;
  readonly #options: ProcessOptions;
  #state: CallState = { phase: 'silent' };
  /** Memory is short; any phase may be paused. */
  #isPaused = false;
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
    if (this.#state.phase === 'over') return;
    try {
      // If memory is short, the guard may end this very call.
      this.#options.worked(bytes.length);
      this.#take(bytes);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  tick(at: number): void {
    // The ledger does not count a call without a message, and it would last as long as its connection.
    if (this.#state.phase === 'silent' && at - this.#startedAt >= this.#options.firstMessageMs)
      this.#finish(status.DEADLINE_EXCEEDED, 'No message came on this call.');
    // `isBlocked` also detects that the call was reset.
    const isBlocked = this.#call.isBlocked();
    const state = this.#state;
    if (!('opened' in state)) return;
    try {
      const readsNothing = isBlocked || this.#isPaused || state.phase !== 'idle';
      this.#reply(state, state.opened.exchange.tick(at, readsNothing));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  blocked(bytes: number): void {
    if ('opened' in this.#state) this.#state.opened.admission?.setUnsent(bytes);
  }

  drained(): void {
    this.blocked(0);
    this.#sendLong();
  }

  pause(): void {
    this.#isPaused = true;
    this.#call.pause();
  }

  resume(): void {
    this.#isPaused = false;
    // Nothing is read while a message waits in a queue.
    if (this.#state.phase !== 'queued') this.#call.resume();
  }

  shed(error: ApiError): void {
    try {
      const state = this.#state;
      // A client that does not read would not read the error either, and half an event cannot be ended.
      if ('opened' in state) {
        const canSend = state.phase !== 'sending' && !this.#call.isBlocked();
        const replies = state.opened.exchange.shed(error, canSend);
        if (replies !== null) {
          this.#reply(state, replies);
          this.resume();
          return;
        }
      }
      // Envoy makes a 503 of the status where no answer has begun. A blocked call would not read it.
      if (!this.#call.isBlocked()) this.#finish(status.RESOURCE_EXHAUSTED, error.message);
      else {
        this.#end('done');
        this.#call.cancel();
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  halfClosed(): void {
    this.#take(null);
  }

  /** Envoy resets the call when it needs nothing more: that is the normal end, not an error. */
  closed(): void {
    this.#end('done');
  }

  /** Handles a message or a half-close, or keeps it until the replies to earlier messages are sent. */
  #take(arrived: Arrived): void {
    const state = this.#state;
    if ('waiting' in state) state.waiting.push(arrived);
    else if (arrived === null) this.#finish(status.OK, 'OK');
    else if (state.phase !== 'over') this.#onMessage(arrived);
  }

  /** Throws `ProtocolError` for a message that may not come now. */
  #onMessage(bytes: Buffer): void {
    const { event, modes, observed } = deserializeRequest(bytes);
    if (observed) {
      if (this.#state.phase === 'silent') this.#move('observe', { phase: 'observed' });
      return;
    }
    const startedAt = performance.now();
    const state = this.#state.phase === 'idle' ? this.#state : this.#open(modes, startedAt);
    const { exchange } = state.opened;
    const schedule = exchange.chooseSchedule(event);
    if (schedule === 'in_steps' || (schedule === 'queued_once' && !this.#options.queues.queued_once.hasTime())) {
      this.#enqueue(state.opened, event, schedule);
      return;
    }
    this.#reply(state, exchange.handle(event));
    this.#worked(event, startedAt);
  }

  #open(modes: BodyModes | null, startedAt: number): Idle {
    const state: Idle = { phase: 'idle', opened: this.#options.open(this.#call.metadata, modes, this) };
    this.#move('open', state);
    this.#startedAt = startedAt;
    return state;
  }

  /** Queues the message. Later messages of this call wait for it, other calls do not. */
  #enqueue(opened: OpenExchange, event: ExchangeEvent, schedule: Exclude<Schedule, 'at_once'>): void {
    const { exchange } = opened;
    const addedAt = performance.now();
    const refusal = () => this.#options.refusalAfter(performance.now() - addedAt);
    const steps = schedule === 'in_steps' ? exchange.handleInSteps(event, refusal) : null;
    const state: Queued = { phase: 'queued', opened, waiting: [] };
    this.#move('enqueue', state);
    this.#call.pause();
    this.#options.queues[schedule].add(() => {
      if (this.#state !== state) return true;
      const startedAt = performance.now();
      try {
        const step = steps?.next() ?? { done: true, value: exchange.handle(event) };
        this.#worked(event, startedAt);
        if (!step.done) return false;
        if (!this.#isPaused) this.#call.resume();
        this.#reply(state, step.value);
        if (this.#state === state) this.#handleWaiting(state);
      } catch (thrown) {
        this.#fail(thrown);
      }
      return true;
    });
  }

  /** Handles what has arrived meanwhile. A message that is queued itself makes the rest wait again. */
  #handleWaiting({ opened, waiting }: Queued | Sending): void {
    this.#move('answered', { phase: 'idle', opened });
    for (const arrived of waiting) this.#take(arrived);
  }

  #worked(event: ExchangeEvent, startedAt: number): void {
    const elapsed = performance.now() - startedAt;
    if (event.type.startsWith('request_')) this.#requestMs += elapsed;
    else this.#responseMs += elapsed;
  }

  #reply(state: Idle | Queued | Sending, replies: Replies): void {
    const { opened } = state;
    if (Array.isArray(replies)) {
      this.#send(opened, replies);
      return;
    }
    this.#move('send_long', { phase: 'sending', opened, waiting: 'waiting' in state ? state.waiting : [], replies });
    this.#sendLong();
  }

  /** Sends as much of a long answer as the caller reads; the rest is generated later, so that it takes no memory. */
  #sendLong(): void {
    const state = this.#state;
    if (state.phase !== 'sending') return;
    try {
      while (this.#state === state && this.#call.hasRoom()) {
        const { done, value } = state.replies.next();
        if (done) this.#handleWaiting(state);
        else this.#send(state.opened, [value]);
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

  #finish(code: status, details: string): void {
    this.#end('done');
    this.#call.end({ code, details });
  }

  #fail(thrown: unknown): void {
    const known = thrown instanceof ProtocolError;
    if (!known && !('opened' in this.#state)) this.#options.onFault(thrown);
    this.#end(known ? 'protocol_error' : 'crashed', thrown);
    const details = known ? thrown.message : 'The service failed on this call.';
    this.#call.end({ code: known ? status.INVALID_ARGUMENT : status.INTERNAL, details });
  }

  /** Never throws, because an exception in an event handler would end the process and every other call with it. */
  #end(how: CallEnd, cause?: unknown): void {
    const state = this.#state;
    if (state.phase === 'over') return;
    // Node's Map of streams may keep this call for long (see `Http2Call`), so it lets go of its exchange.
    this.#move('end', { phase: 'over' });
    this.#options.ticker.remove(this);
    if (!('opened' in state)) return;
    const { exchange, admission } = state.opened;
    admission?.release();
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

  #move(by: CallMove, to: CallState): void {
    checkMove(callMoves, this.#state.phase, by, to.phase);
    this.#state = to;
  }
}

function hasBytesForClient(reply: ExchangeReply): boolean {
  if (reply.type === 'response_body') return (reply.body?.length ?? 0) > 0;
  return reply.type === 'immediate_response';
}
