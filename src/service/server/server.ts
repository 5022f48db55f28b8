import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { constants, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { type Exchange, type ExchangeOptions, healthService, processPath } from '../../filter/index.ts';
import type { OverloadGuard } from '../memory/overload.ts';
import type { Config } from '../settings/config.ts';
import type { CallMetadata, ExchangeObserver } from '../telemetry/observer.ts';
import { createExchangeFactory } from './exchanges.ts';
import { acceptCall } from './grpc-call.ts';
import { checkGrpcJsInternals, http2ServersOf, setHttp2Options, stopPings, takeStreams } from './grpc-js-internals.ts';
import { createHealth } from './health.ts';
import { ProcessCall } from './process.ts';
import { openProfiles, type ProfileSource } from './profile-source.ts';
import { createStepQueue } from './step-queue.ts';
import { createTicker, type Ticker } from './ticker.ts';

export interface ServiceOptions extends Partial<typeof tolerances> {
  readonly config: Config;
  readonly observers: readonly ExchangeObserver[];
  /** Makes the exchanges, in place of the class itself: one that records them. */
  readonly createExchange?: ((options: ExchangeOptions) => Exchange) | undefined;
  /** Profiles to use; without any, the profiles of the configuration. */
  readonly profiles?: ProfileSource;
  /** Not in a worker: another may just have bound the address that they share, so the supervisor does it before all of them. */
  readonly removesStaleSockets?: boolean;
  /** Plain HTTP/2 when there are none. */
  readonly credentials?: ServerCredentials | undefined;
  /** Admits or refuses every call; without a guard all are admitted. */
  readonly guard?: Pick<OverloadGuard, 'admit' | 'checkAvailability' | 'refuse' | 'worked'>;
  /** The guard's availability changed, and health with it. */
  readonly onAvailability?: (available: boolean) => void;
  /** An Envoy route names an unknown profile or an invalid path. */
  readonly onMisconfigured: (problem: string) => void;
  /** A connection's TLS handshake failed, of a client at that address. */
  readonly onHandshakeFailure?: (reason: string, address: string | undefined) => void;
  /** An internal error that no exchange's log line reports; its call has ended. */
  readonly onFault: (thrown: unknown) => void;
}

export type Service = ReturnType<typeof createService>;

/** The shipped Envoy configurations take requests this much longer: what they pass on is refused here, by name, and not by gRPC's limit. */
const envoyRoom = 1.25;

/** How much larger than the largest body a message may be: headers, and its own framing. */
const messageRoom = 1024 * 1024;
const tickMs = 500;
/** CPU time for which bodies that arrive together may keep the event loop (docs/decisions/0006-cpu-of-a-request.md). */
const sliceMs = 100;

/** Limits on what proxies and other peers may do. */
const tolerances = {
  /** Milliseconds between pings: without them, a proxy whose network vanished would keep its calls and their buffers for ever. */
  pingMs: 30_000,
  /** How long a proxy has to answer one. */
  pingTimeoutMs: 30_000,
  /**
   * Stream resets on one connection, which is closed beyond that. Envoy ends every call with a reset, and Node by default treats
   * more than 1,000 of them on a connection (33 a second) as an attack and closes it with all its calls (docs/decisions/0004).
   * These are several times what one process can answer in a second, so that Envoy never reaches them, but a flood of resets does.
   */
  resetLimits: { burst: 100_000, perSecond: 20_000 },
  /**
   * Resets of calls that were not answered yet, on all connections together; beyond the limit, the connections that reset most
   * are closed. The limit is all that the clients of a busy service may cancel at once while it is behind by a second or two. A
   * process reads some 25,000 of them a second and does nothing else meanwhile.
   */
  unansweredResetLimits: { burst: 10_000, perSecond: 2000 },
  /** Milliseconds within which a connection must open its first call: Envoy does as soon as it has a connection. */
  firstCallMs: 30_000,
  /** Milliseconds within which a call must send its first message: Envoy sends it at once. */
  firstMessageMs: 10_000,
};

/**
 * Flow control window of a connection, for all of its calls together. Each of Envoy's threads has one connection for
 * all of its calls; with Node's 64 KiB for all of them, they are cut into small frames and wait for room: a request of
 * 256 KB takes Envoy 60 system calls instead of 35 (docs/decisions/0012-speed.md, "What Envoy costs"). It takes no more memory
 * than the window of each call, 64 KiB, does: Node gives the connection's room back when bytes arrive, whether or not
 * their call reads them.
 */
const connectionWindow = 16 * 1024 * 1024;
const tlsHandshakeMs = 10_000;
/** The proxy waits twice as long for the answer to a body (`message_timeout`), and its 504 would not say when to try again. */
const longestWaitMs = 5_000;

/** The gRPC server: `ExternalProcessor` and `grpc.health.v1`. */
export function createService(options: ServiceOptions) {
  const { config, createExchange, guard, observers, onMisconfigured, onFault } = options;
  const { credentials = ServerCredentials.createInsecure(), profiles = openProfiles(config) } = options;
  const tolerated = { ...tolerances, ...options };
  // Where Envoy buffers, one message carries a whole request or response body.
  const maxMessageBytes =
    Math.max(Math.ceil(config.MAX_REQUEST_BYTES * envoyRoom), config.MAX_RESPONSE_BYTES) + messageRoom;
  const factory = createExchangeFactory(config, profiles, onMisconfigured, { createExchange });
  const ticker = createTicker(tickMs);
  const watchResets = createResetGuard(tolerated.unansweredResetLimits, () => performance.now());
  const queues = { queued_once: createStepQueue(sliceMs), in_steps: createStepQueue(0) };
  const acceptProcess = (stream: ServerHttp2Stream, headers: CallMetadata) =>
    acceptCall(
      stream,
      headers,
      maxMessageBytes,
      (call) =>
        new ProcessCall(call, {
          open: (modes, holder) => factory.open(call.metadata, modes, guard?.admit(holder) ?? null),
          worked: (bytes) => guard?.worked(bytes),
          longestWaitMs,
          waitedTooLong: () => guard?.refuse('waiting') ?? null,
          queues,
          observers,
          ticker,
          firstMessageMs: tolerated.firstMessageMs,
          onFault,
        }),
      onFault,
    );
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': 2 ** 31 - 1,
    'grpc.keepalive_time_ms': tolerated.pingMs,
    'grpc.keepalive_timeout_ms': tolerated.pingTimeoutMs,
  });
  setHttp2Options(server, {
    streamResetBurst: tolerated.resetLimits.burst,
    streamResetRate: tolerated.resetLimits.perSecond,
    handshakeTimeout: tlsHandshakeMs,
  });
  const health = createHealth();
  if (guard !== undefined)
    watchAvailability(ticker, guard, (available) => {
      health.setAvailable(available);
      options.onAvailability?.(available);
    });
  server.addService(healthService, health.handlers as unknown as UntypedServiceImplementation);

  function prepare(http2Server: Http2Server): void {
    takeStreams(http2Server, processPath, acceptProcess);
    http2Server.on('session', (session) => {
      session.setLocalWindowSize(connectionWindow);
      // One that opens no call would otherwise stay for as long as it answers pings.
      const unused = setTimeout(() => session.destroy(), tolerated.firstCallMs).unref();
      for (const event of ['stream', 'close']) session.once(event, () => clearTimeout(unused));
      watchResets(session);
    });
    http2Server.on('tlsClientError', (error, socket) =>
      options.onHandshakeFailure?.(error.message, socket.remoteAddress),
    );
  }

  return {
    /**
     * Binds every address of `LISTEN` and returns them with the ports they were given. Rejects when one is taken, and when
     * grpc-js has internals that this service does not know.
     */
    async listen() {
      await checkGrpcJsInternals();
      const bound: string[] = [];
      for (const address of config.LISTEN.split(',').map((text) => text.trim())) {
        if (options.removesStaleSockets !== false) await removeStaleSocket(address);
        bound.push(await bind(server, address, credentials, prepare));
      }
      return bound;
    },
    /** False from the moment the drain starts, and while the guard would refuse every request. */
    get ready() {
      return health.serving;
    },
    /**
     * Reports NOT_SERVING, still accepts calls for `delayMs` from proxies that have not noticed, then accepts none; lets
     * running calls finish, and cancels those that still run after `timeoutMs` more.
     */
    async drain(timeoutMs: number, delayMs = 0) {
      health.drain();
      await sleep(delayMs);
      stopPings(server);
      const outcome = await closed(server, timeoutMs);
      ticker.stop();
      return outcome;
    },
  };
}

function watchAvailability(
  ticker: Ticker,
  guard: Pick<OverloadGuard, 'checkAvailability'>,
  onChange: (available: boolean) => void,
): void {
  let available = true;
  ticker.add({
    tickSlot: -1,
    tick() {
      const now = guard.checkAvailability();
      if (now === available) return;
      available = now;
      onChange(now);
    },
  });
}

/** Binds an address, and returns it with the port that it was given. */
async function bind(
  server: Server,
  address: string,
  credentials: ServerCredentials,
  prepare: (http2Server: Http2Server) => void,
): Promise<string> {
  const before = http2ServersOf(server).length;
  const port = await promisify(server.bindAsync.bind(server))(address, credentials);
  // At once, before a connection can have been accepted.
  for (const http2Server of http2ServersOf(server).slice(before)) prepare(http2Server);
  return address.replace(/:0$/, `:${port}`);
}

/** Removes a socket that a killed process left behind, which would keep the address taken; one that answers is in use. */
export async function removeStaleSocket(address: string): Promise<void> {
  const path = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path === undefined || lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const probe = connect(path);
  const answers = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (!answers) rmSync(path, { force: true });
}

function closed(server: Server, timeoutMs: number): Promise<'drained' | 'forced'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve('forced');
    }, timeoutMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve('drained');
    });
  });
}

/** Resets within a second up to which a connection is kept, though the process has had too many: they are another's. */
const keptUpTo = 100;
const windowMs = 1000;

/**
 * Bounds the calls that peers reset before they were answered, over all connections of this process: the result is to be called
 * with each of them. Node's limit is one connection's: four together would keep everybody else waiting for four times as long, and whoever is cut
 * off connects again. Beyond `limits`, a connection that resets more than a hundred calls a second is closed. Envoy resets
 * every call at its end, which is after an answer and not counted. `now` counts milliseconds.
 */
export function createResetGuard(limits: { readonly burst: number; readonly perSecond: number }, now: () => number) {
  let left = limits.burst;
  let filledAt = now();

  /** Takes one from what is left; false if there is none. */
  function take(): boolean {
    const at = now();
    left = Math.min(limits.burst, left + ((at - filledAt) * limits.perSecond) / 1000);
    filledAt = at;
    if (left < 1) return false;
    left -= 1;
    return true;
  }

  return (session: ServerHttp2Session): void => {
    let [resets, since] = [0, now()];
    const closed = ({ sentHeaders, rstCode }: ServerHttp2Stream) => {
      // A status without a message before it refuses the call.
      const isAnswered = sentHeaders !== undefined && sentHeaders['grpc-status'] === undefined;
      // The streams of a connection that has ended close with it.
      if (isAnswered || rstCode === constants.NGHTTP2_NO_ERROR || session.destroyed) return;
      const at = now();
      if (at - since > windowMs) [resets, since] = [0, at];
      resets += 1;
      if (!take() && resets > keptUpTo) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on('stream', (stream) => stream.once('close', () => closed(stream)));
  };
}
