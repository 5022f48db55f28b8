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
import type { ExchangeObserver } from '../telemetry/observer.ts';
import { createExchangeFactory } from './exchanges.ts';
import { acceptCall, type GrpcCall } from './grpc-call.ts';
import {
  checkGrpcJsInternals,
  readHttp2Servers,
  setHttp2Options,
  stopPings,
  takeStreams,
} from './grpc-js-internals.ts';
import { createHealth } from './health.ts';
import { ProcessCall, type ProcessOptions } from './process.ts';
import { openProfiles, type ProfileSource } from './profile-source.ts';
import { createStepQueue } from './step-queue.ts';
import { createTicker } from './ticker.ts';

export interface ServiceOptions extends Partial<typeof tolerances> {
  readonly config: Config;
  readonly observers: readonly ExchangeObserver[];
  readonly createExchange?: ((options: ExchangeOptions) => Exchange) | undefined;
  readonly profiles?: ProfileSource;
  /** False in a worker: another may just have bound the address that they share, so the supervisor does it before it starts any. */
  readonly removesStaleSockets?: boolean;
  readonly credentials?: ServerCredentials | undefined;
  /** Admits or refuses every call; without a guard all are admitted. */
  readonly guard?: Pick<OverloadGuard, 'admit' | 'checkAvailability' | 'refuse' | 'worked'>;
  /** Called when the guard's availability, and health with it, has changed. */
  readonly onAvailability?: (available: boolean) => void;
  /** Called when an Envoy route names an unknown profile or an invalid path. */
  readonly onMisconfigured: (problem: string) => void;
  readonly onHandshakeFailure?: (reason: string, address: string | undefined) => void;
  /** Called with an internal error that no exchange's log line reports; its call has ended. */
  readonly onFault: (thrown: unknown) => void;
}

export type Service = ReturnType<typeof createService>;

/** The shipped Envoy configurations accept requests this much larger than the limit, so that the error is the API's and not gRPC's. */
const envoyRoom = 1.25;
/** A message has headers and framing besides the largest body. */
const messageRoom = 1024 * 1024;
const tickMs = 500;
/** CPU time for which bodies that arrive together may keep the event loop (docs/decisions/0006-cpu-of-a-request.md). */
const sliceMs = 100;

/** Limits on what proxies and other peers may do. */
const tolerances = {
  /** Milliseconds between pings. Without pings, the calls of a proxy whose network has vanished would stay in memory for ever. */
  pingMs: 30_000,
  pingTimeoutMs: 30_000,
  /**
   * Stream resets after which a connection is closed. Envoy ends every call with a reset, and Node's default of 1,000 (33 a second)
   * closes its connection with all calls (docs/decisions/0004). One process answers a fraction of these limits in a second.
   */
  resetLimits: { burst: 100_000, perSecond: 20_000 },
  /**
   * Resets of unanswered calls, on all connections together, after which the connections that reset most are closed. Clients of a
   * busy service may cancel that many at once. A process reads some 25,000 resets a second and does nothing else meanwhile.
   */
  unansweredResetLimits: { burst: 10_000, perSecond: 2000 },
  /** Milliseconds within which a connection must open its first call. Envoy opens it at once. */
  firstCallMs: 30_000,
  /** Milliseconds within which a call must send its first message. Envoy sends it at once. */
  firstMessageMs: 10_000,
};

/**
 * Flow control window of a connection, which carries all calls of one of Envoy's threads. With Node's 64 KiB, a request of 256 KB
 * takes Envoy 60 system calls instead of 35 (docs/decisions/0012-speed.md, "What Envoy costs"). A larger window takes no memory: Node
 * gives the connection's room back when bytes arrive, and what waits to be read is bounded by each call's window of 64 KiB.
 */
const connectionWindow = 16 * 1024 * 1024;
const tlsHandshakeMs = 10_000;
/** A body that has waited longer is refused. Envoy's `message_timeout` is twice that, and its 504 would not say when to try again. */
const longestWaitMs = 5_000;

/** The gRPC server: `ExternalProcessor` and `grpc.health.v1`. */
export function createService(options: ServiceOptions) {
  const { config, createExchange, guard, observers, onMisconfigured, onFault } = options;
  const { credentials = ServerCredentials.createInsecure(), profiles = openProfiles(config) } = options;
  const tolerated = { ...tolerances, ...options };
  // A buffering Envoy sends a whole request or response body in one message.
  const maxMessageBytes =
    Math.max(Math.ceil(config.MAX_REQUEST_BYTES * envoyRoom), config.MAX_RESPONSE_BYTES) + messageRoom;
  const factory = createExchangeFactory(config, profiles, onMisconfigured, { createExchange });
  const ticker = createTicker(tickMs);
  const watchResets = createResetGuard(tolerated.unansweredResetLimits, () => performance.now());
  const processOptions: ProcessOptions = {
    open: (metadata, modes, holder) => factory.open(metadata, modes, guard?.admit(holder) ?? null),
    worked: (bytes) => guard?.worked(bytes),
    refusalAfter: (waitedMs) => (waitedMs > longestWaitMs ? (guard?.refuse('waiting') ?? null) : null),
    queues: { queued_once: createStepQueue(sliceMs), in_steps: createStepQueue(0) },
    observers,
    ticker,
    firstMessageMs: tolerated.firstMessageMs,
    onFault,
  };
  const accept = (call: GrpcCall) => new ProcessCall(call, processOptions);
  const callOptions = { maxMessageBytes, accept, onFault };
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
  const checkAvailability = () => {
    const available = guard?.checkAvailability() ?? true;
    if (health.setAvailable(available)) options.onAvailability?.(available);
  };
  ticker.add({ tickSlot: -1, tick: checkAvailability });
  server.addService(healthService, health.handlers as unknown as UntypedServiceImplementation);

  function prepare(http2Server: Http2Server): void {
    takeStreams(http2Server, processPath, (stream, headers) => acceptCall(stream, headers, callOptions));
    http2Server.on('session', (session) => {
      session.setLocalWindowSize(connectionWindow);
      // A connection without calls would otherwise stay for as long as it answers pings.
      const unused = setTimeout(() => session.destroy(), tolerated.firstCallMs).unref();
      for (const event of ['stream', 'close']) session.once(event, () => clearTimeout(unused));
      watchResets(session);
    });
    http2Server.on('tlsClientError', (error, socket) =>
      options.onHandshakeFailure?.(error.message, socket.remoteAddress),
    );
  }

  return {
    /** Binds every address of `LISTEN` and returns them with their ports. Rejects when one is taken, or grpc-js has unknown internals. */
    async listen() {
      await checkGrpcJsInternals();
      const bound: string[] = [];
      for (const address of config.LISTEN.split(',').map((text) => text.trim())) {
        if (options.removesStaleSockets !== false) await removeStaleSocket(address);
        const before = readHttp2Servers(server).length;
        const port = await promisify(server.bindAsync.bind(server))(address, credentials);
        // No connection can have been accepted yet.
        for (const http2Server of readHttp2Servers(server).slice(before)) prepare(http2Server);
        bound.push(address.replace(/:0$/, `:${port}`));
      }
      return bound;
    },
    /** False from the start of the drain on, and while the guard would refuse every request. */
    isReady: health.isServing,
    /**
     * Reports NOT_SERVING, and accepts calls for `delayMs` more from proxies that have not noticed. Running calls may then finish;
     * after `timeoutMs` they are cancelled.
     */
    async drain(timeoutMs: number, delayMs = 0) {
      health.drain();
      await sleep(delayMs);
      stopPings(server);
      const outcome = await shutDown(server, timeoutMs);
      ticker.stop();
      return outcome;
    },
  };
}

/** Removes the Unix socket of a killed process, which would keep the address taken; a socket that answers is in use, and stays. */
export async function removeStaleSocket(address: string): Promise<void> {
  const path = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path === undefined || lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const probe = connect(path);
  const answer = await once(probe, 'connect').catch(() => null);
  probe.destroy();
  if (answer === null) rmSync(path, { force: true });
}

function shutDown(server: Server, timeoutMs: number): Promise<'drained' | 'forced'> {
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

/** When the process has had too many resets, a connection with at most so many in the last second is not their cause, and stays. */
const keptUpTo = 100;
const windowMs = 1000;

/**
 * Bounds the calls that peers reset before they were answered, over all connections together: Node's limit is for each connection,
 * and whoever is cut off connects again. Beyond `limits`, a connection that resets more than a hundred calls a second is closed.
 * Envoy's resets follow an answer, and do not count. Call the result with each connection; `now` counts milliseconds.
 */
export function createResetGuard(limits: { readonly burst: number; readonly perSecond: number }, now: () => number) {
  let tokens = limits.burst;
  let filledAt = now();

  function takeToken(at: number): boolean {
    tokens = Math.min(limits.burst, tokens + ((at - filledAt) * limits.perSecond) / 1000);
    filledAt = at;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }

  return (session: ServerHttp2Session): void => {
    let [resets, since] = [0, now()];
    const onClose = ({ sentHeaders, rstCode }: ServerHttp2Stream) => {
      // The first headers have a status only where the call was refused without a message.
      const isAnswered = sentHeaders !== undefined && sentHeaders['grpc-status'] === undefined;
      // The end of a connection closes its streams, which nobody has reset.
      if (isAnswered || rstCode === constants.NGHTTP2_NO_ERROR || session.destroyed) return;
      const at = now();
      if (at - since > windowMs) [resets, since] = [0, at];
      resets += 1;
      if (!takeToken(at) && resets > keptUpTo) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on('stream', (stream) => stream.once('close', () => onClose(stream)));
  };
}
