import { join } from 'node:path';
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const service = loadSync(join(import.meta.dirname, 'rate-limit.proto'), {
  keepCase: true,
  longs: Number,
  arrays: true,
})['envoy.service.ratelimit.v3.RateLimitService'] as ServiceDefinition;

interface LimitRequest {
  readonly descriptors: readonly Descriptor[];
}
interface Descriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  /** Without one the request counts as one hit; 0 is absent on the wire. */
  readonly hits_addend?: { readonly value?: number };
}

export interface RateLimitService {
  readonly port: number;
  /** What each name has used up, by the value of its descriptor's last entry. */
  readonly used: ReadonlyMap<string, number>;
  close(): void;
}

/** A rate limit service with a budget that is never refilled: a request is over the limit once its name has used it up. */
export async function startRateLimitService(budget: number): Promise<RateLimitService> {
  const used = new Map<string, number>();
  const ShouldRateLimit: handleUnaryCall<LimitRequest, object> = ({ request }, answer) => {
    let over = false;
    for (const { entries, hits_addend } of request.descriptors) {
      const name = entries.at(-1)?.value ?? '';
      const sum = (used.get(name) ?? 0) + (hits_addend === undefined ? 1 : (hits_addend.value ?? 0));
      used.set(name, sum);
      over ||= sum >= budget;
    }
    answer(null, { overall_code: over ? 'OVER_LIMIT' : 'OK' });
  };
  const server = new Server();
  server.addService(service, { ShouldRateLimit });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, used, close: () => server.forceShutdown() };
}
