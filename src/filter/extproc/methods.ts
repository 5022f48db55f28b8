import { createRequire } from 'node:module';
import { type HealthCheckResponse, readHealthRequest, writeHealthResponse } from './health-messages.ts';

// Loaded when a message first needs them: protobufjs and the definitions are a third of a start, and 7 MB.
const require = createRequire(import.meta.url);
let loaded: typeof import('./proto-definitions.ts') | undefined;

/** proto-loader's definitions; the first call takes some 30 ms. Throws when a file of `proto/` is missing or invalid. */
export function loadDefinitions(): typeof import('./proto-definitions.ts') {
  loaded ??= require('./proto-definitions.ts') as typeof import('./proto-definitions.ts');
  return loaded;
}

/** A method as a gRPC server takes it. */
interface Method {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(value: unknown): Buffer;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(value: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

/** The method that Envoy calls; its messages are in `messages.ts`. */
export const processPath = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** `grpc.health.v1.Health`. */
export const healthService = {
  Check: healthMethod('Check', false),
  Watch: healthMethod('Watch', true),
};

function healthMethod(name: 'Check' | 'Watch', responseStream: boolean): Method {
  const general = () => {
    const method = loadDefinitions().healthService[name];
    if (method === undefined) throw new Error(`proto/ does not define grpc.health.v1.Health.${name}`);
    return method;
  };
  return {
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: (value) => general().requestSerialize(value as object),
    requestDeserialize: (bytes) => readHealthRequest(bytes) ?? general().requestDeserialize(bytes),
    responseSerialize: (value) => writeHealthResponse(value as HealthCheckResponse),
    responseDeserialize: (bytes) => general().responseDeserialize(bytes),
  };
}
