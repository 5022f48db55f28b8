import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import type { HealthCheckResponse } from '../../filter/index.ts';

/** Service names that can be checked: the whole server, our service, and those that Kubernetes setups use. */
const names: readonly string[] = ['', 'envoy.service.ext_proc.v3.ExternalProcessor', 'liveness', 'readiness'];

type HealthCheckRequest = { readonly service: string };
type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/** The standard gRPC health service. It serves from the start, because it is reachable only once the server is. */
export function createHealth() {
  let available = true;
  let draining = false;
  const watchers = new Set<Watcher>();

  const serving = () => available && !draining;

  function statusOf({ service }: HealthCheckRequest): HealthCheckResponse['status'] {
    // The protocol allows watching a name that does not exist, or not yet.
    if (!names.includes(service)) return 'SERVICE_UNKNOWN';
    return serving() || service === 'liveness' ? 'SERVING' : 'NOT_SERVING';
  }

  return {
    /** Handlers of `grpc.health.v1.Health`. */
    handlers: {
      Check(
        { request }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
        answer: sendUnaryData<HealthCheckResponse>,
      ): void {
        const found = statusOf(request);
        if (found === 'SERVICE_UNKNOWN') answer({ code: status.NOT_FOUND, details: 'No service of that name.' });
        else answer(null, { status: found });
      },
      Watch(call: Watcher): void {
        call.write({ status: statusOf(call.request) });
        if (!draining) {
          watchers.add(call);
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
      const changed = value ? 'SERVING' : 'NOT_SERVING';
      for (const call of watchers)
        if (call.request.service !== 'liveness' && statusOf(call.request) === changed) call.write({ status: changed });
    },
    /** Turns everything but liveness NOT_SERVING for good; ends every watch, so that none delays the shutdown. */
    drain(): void {
      draining = true;
      for (const call of watchers) {
        call.write({ status: statusOf(call.request) });
        call.end();
      }
      watchers.clear();
    },
  };
}
