import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import type { ServingStatus } from '../../filter/extproc/methods.ts';

/** Service names that can be checked: the whole server, our service, and those that Kubernetes setups use. */
const names = ['', 'envoy.service.ext_proc.v3.ExternalProcessor', 'liveness', 'readiness'] as const;
type Name = (typeof names)[number];

type HealthCheckRequest = { readonly service: string };
type HealthCheckResponse = { readonly status: ServingStatus };
type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/** The standard gRPC health service. It serves from the start, because it is reachable only once the server is. */
export function createHealth() {
  let available = true;
  let draining = false;
  const watchers = new Map<Watcher, Name | null>();

  const serving = () => available && !draining;

  function statusOf(name: Name | null): ServingStatus {
    // The protocol allows watching a name that does not exist, or not yet.
    if (name === null) return 'SERVICE_UNKNOWN';
    return serving() || name === 'liveness' ? 'SERVING' : 'NOT_SERVING';
  }

  return {
    /** Handlers of `grpc.health.v1.Health`. */
    handlers: {
      Check(
        { request }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
        answer: sendUnaryData<HealthCheckResponse>,
      ): void {
        const name = nameOf(request);
        if (name === null) answer({ code: status.NOT_FOUND, details: 'No service of that name.' });
        else answer(null, { status: statusOf(name) });
      },
      Watch(call: Watcher): void {
        const name = nameOf(call.request);
        call.write({ status: statusOf(name) });
        if (!draining) {
          watchers.set(call, name);
          call.on('cancelled', () => watchers.delete(call));
        } else call.end();
      },
    },
    get serving() {
      return serving();
    },
    /** Turns everything but liveness SERVING or NOT_SERVING; watchers are notified of a change. No effect after `drain`. */
    setAvailable(value: boolean): void {
      if (draining || value === available) return;
      available = value;
      for (const [call, name] of watchers)
        if (name !== null && name !== 'liveness') call.write({ status: statusOf(name) });
    },
    /** Turns everything but liveness NOT_SERVING for good; ends every watch, so that none delays the shutdown. */
    drain(): void {
      draining = true;
      for (const [call, name] of watchers) {
        call.write({ status: statusOf(name) });
        call.end();
      }
      watchers.clear();
    },
  };
}

function nameOf({ service }: HealthCheckRequest): Name | null {
  return names.find((name) => name === service) ?? null;
}
