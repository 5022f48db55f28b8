import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Config } from '../config.ts';
import { healthService, processMethod } from '../extproc/messages.ts';
import { createExchangeFactory } from './exchanges.ts';
import { createCallInterceptor } from './grpc-call.ts';
import { createHealth } from './health.ts';
import type { ExchangeObserver } from './observer.ts';
import type { OverloadGuard } from './overload.ts';
import { processCall } from './process.ts';
import { builtInProfileSource, type ProfileSource } from './profile-source.ts';
import { createTicker } from './ticker.ts';

export interface ServiceOptions {
  readonly config: Config;
  readonly observers: readonly ExchangeObserver[];
  /** The built-in profiles, unless given. */
  readonly profiles?: ProfileSource;
  /** Plain HTTP/2 when there are none. */
  readonly credentials?: ServerCredentials | undefined;
  /** Asked at the start of every call; without one there is always room. */
  readonly guard?: OverloadGuard;
  /** Milliseconds between the pings that find out whether a proxy is still there; it has as long to answer. */
  readonly pingMs?: number;
  /** A route of Envoy's names what is not there. */
  readonly onMisconfigured: (problem: string) => void;
  /** A mistake of ours that stands in no exchange's log line; the call it was made in has ended. */
  readonly onFault: (thrown: unknown) => void;
}

export interface Service {
  /** Binds every address of `LISTEN`; gives them with the ports they got. Throws if one is taken. */
  listen(): Promise<readonly string[]>;
  /** False from the start of the drain on. */
  readonly ready: boolean;
  /**
   * Says that it serves no more, takes calls for `delayMs` from those who have not heard, then none; lets running ones
   * end, and breaks off what still runs after `timeoutMs` more.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<'drained' | 'forced'>;
}

/** Room around the largest body in one message: headers, and the message itself. */
const messageRoom = 1024 * 1024;
const tickMs = 500;
/** A proxy that was cut off without a word would keep its calls, and what they hold, for ever. */
const defaultPingMs = 30_000;

/** The gRPC server: `ExternalProcessor` and `grpc.health.v1`. */
export function createService(options: ServiceOptions): Service {
  const { config, credentials, guard, observers, onMisconfigured, onFault, pingMs = defaultPingMs } = options;
  // Where Envoy buffers, a message is a whole body, of a request or of an answer.
  const maxMessageBytes = Math.max(config.MAX_REQUEST_BYTES, config.MAX_RESPONSE_BYTES) + messageRoom;
  const factory = createExchangeFactory(config, options.profiles ?? builtInProfileSource, onMisconfigured);
  const ticker = createTicker(tickMs);
  const processCalls = createCallInterceptor(processMethod.path, maxMessageBytes, (call) =>
    processCall(call, {
      open: (modes) => factory.open(call.metadata, modes, guard?.admit() ?? null),
      observers,
      ticker,
      onFault,
    }),
  );
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': 2 ** 31 - 1,
    'grpc.keepalive_time_ms': pingMs,
    'grpc.keepalive_timeout_ms': pingMs,
    interceptors: [processCalls],
  });
  tolerateResets(server);
  const health = createHealth();
  // The interceptor answers its calls; the service is named so that the server knows the method.
  const handlers: UntypedServiceImplementation = { Process: () => {} };
  server.addService({ Process: processMethod } as unknown as ServiceDefinition, handlers);
  server.addService(healthService, health.handlers as unknown as UntypedServiceImplementation);

  return {
    async listen() {
      const bound: string[] = [];
      for (const address of config.LISTEN.split(',').map((text) => text.trim())) {
        await removeStaleSocket(address);
        const port = await bind(server, address, credentials ?? ServerCredentials.createInsecure());
        bound.push(address.replace(/:0$/, `:${port}`));
      }
      return bound;
    },
    get ready() {
      return health.serving;
    },
    async drain(timeoutMs, delayMs = 0) {
      health.drain();
      await sleep(delayMs);
      const outcome = await closed(server, timeoutMs);
      ticker.stop();
      return outcome;
    },
  };
}

/**
 * Envoy ends every call with a reset, and Node takes more than 1,000 of them on a connection (33 a second) for an
 * attack and closes it with all that runs there. grpc-js has no option of its own for node:http2's.
 */
function tolerateResets(server: Server): void {
  const options: unknown = Reflect.get(server, 'commonServerOptions');
  if (typeof options !== 'object' || options === null)
    throw new Error('grpc-js keeps its HTTP/2 options elsewhere now.');
  Object.assign(options, { streamResetBurst: 1_000_000_000, streamResetRate: 1_000_000_000 });
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  });
}

/** A socket that a killed process left behind would keep the address taken; one that answers is another worker's, or in use. */
async function removeStaleSocket(address: string): Promise<void> {
  const path = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1];
  if (path === undefined || lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const probe = connect(path);
  const answers = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (!answers) rmSync(path);
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
