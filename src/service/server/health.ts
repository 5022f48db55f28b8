import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';
import type { HealthCheckResponse } from '../../filter/index.ts';

/** Names that can be checked: '' for the whole server, the service, and the names that Kubernetes setups use. */
const names: readonly string[] = ['', 'envoy.service.ext_proc.v3.ExternalProcessor', 'liveness', 'readiness'];

type HealthCheckRequest = { readonly service: string };
type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

/** The standard gRPC health service. It reports SERVING from the start, because it is reachable only once the server is. */
export function createHealth() {
  let available = true;
  let draining = false;
  const watchers = new Set<Watcher>();

  const isServing = () => available && !draining;

  function findStatus({ service }: HealthCheckRequest): HealthCheckResponse['status'] {
    // A watch may name a service that does not exist.
    if (!names.includes(service)) return 'SERVICE_UNKNOWN';
    return isServing() || service === 'liveness' ? 'SERVING' : 'NOT_SERVING';
  }

  return {
    handlers: {
      Check(
        { request }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
        answer: sendUnaryData<HealthCheckResponse>,
      ): void {
        const found = findStatus(request);
        if (found === 'SERVICE_UNKNOWN') answer({ code: status.NOT_FOUND, details: 'No service of that name.' });
        else answer(null, { status: found });
      },
      Watch(call: Watcher): void {
        call.write({ status: findStatus(call.request) });
        if (!draining) {
          watchers.add(call);
          call.on('cancelled', () => watchers.delete(call));
        } else call.end();
      },
    },
    isServing,
    /** Reports SERVING or NOT_SERVING for everything but liveness, to watchers too. Returns whether it has changed; it never does in a drain. */
    setAvailable(value: boolean): boolean {
      if (draining || value === available) return false;
      available = value;
      const changed = value ? 'SERVING' : 'NOT_SERVING';
      for (const call of watchers)
        if (call.request.service !== 'liveness' && findStatus(call.request) === changed)
          call.write({ status: changed });
      return true;
    },
    /** Reports NOT_SERVING for everything but liveness, for good. Ends every watch, which would delay the shutdown. */
    drain(): void {
      draining = true;
      for (const call of watchers) {
        call.write({ status: findStatus(call.request) });
        call.end();
      }
      watchers.clear();
    },
  };
}
