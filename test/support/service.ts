import { Exchange } from '../../src/filter/exchange/exchange.ts';
import { createService, type Service, type ServiceOptions } from '../../src/service/server/server.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import type { EndedCall, ExchangeObserver } from '../../src/service/telemetry/observer.ts';
import { connectExtProc, type ExtProcClient } from './extproc-client.ts';

/** The real gRPC service in this process, and a client on it. */
export interface RunningService {
  readonly service: Service;
  readonly address: string;
  readonly client: ExtProcClient;
  /** Calls that have ended, in order. */
  readonly ends: readonly EndedCall[];
  /** Calls that are running. */
  readonly running: number;
  /** Bytes of bodies that calls have read so far, including those that have ended. */
  readonly readBytes: () => number;
  /** Profiles that routes named but that do not exist. */
  readonly problems: readonly string[];
  stop(): Promise<void>;
}

export async function startService(
  environment: Readonly<Record<string, string>> = {},
  options: Partial<ServiceOptions> = {},
): Promise<RunningService> {
  const ends: EndedCall[] = [];
  const problems: string[] = [];
  let running = 0;
  const exchanges: Exchange[] = [];
  const counting: ExchangeObserver = (call) => {
    running -= 1;
    ends.push(call);
  };
  const { observers = [], createExchange = (given) => new Exchange(given), ...rest } = options;
  const service = createService({
    config: readConfig({ LISTEN: '127.0.0.1:0', ...environment }),
    onMisconfigured: (problem) => problems.push(problem),
    onFault: (thrown) => {
      throw thrown;
    },
    ...rest,
    createExchange(given) {
      const exchange = createExchange(given);
      running += 1;
      exchanges.push(exchange);
      return exchange;
    },
    observers: [...observers, counting],
  });
  const [address = ''] = await service.listen();
  const client = connectExtProc(address);
  return {
    service,
    address,
    client,
    ends,
    get running() {
      return running;
    },
    readBytes: () =>
      exchanges
        .map((exchange) => exchange.summary().bytes)
        .reduce((sum, { requestIn, responseIn }) => sum + requestIn + responseIn, 0),
    problems,
    async stop() {
      client.close();
      await service.drain(0);
    },
  };
}

/** Waits for a condition that other code of this process fulfils. The limit does not measure speed: a test that reaches it is stuck. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 240_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`it never happened: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
