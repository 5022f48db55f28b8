import { createRequire } from 'node:module';
import type { MethodDefinition } from '@grpc/proto-loader';
import { type HealthCheckResponse, readHealthRequest, writeHealthResponse } from './health-messages.ts';

// Loaded when a message first needs them: protobufjs and the definitions are a third of a start, and 7 MB.
const require = createRequire(import.meta.url);
let loaded: typeof import('./messages.ts') | undefined;

/** proto-loader's definitions; the first call takes some 30 ms. Throws when a file of `proto/` is missing or invalid. */
export function loadDefinitions(): typeof import('./messages.ts') {
  loaded ??= require('./messages.ts') as typeof import('./messages.ts');
  return loaded;
}

/** A method as a gRPC server takes it; its (de)serialisers are looked up at the first call. */
interface Method {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(value: unknown): Buffer;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(value: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

/** What a server has to know of `ExternalProcessor`; its messages are in `messages.ts`. */
export const processorService = {
  Process: lazyMethod(
    '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    true,
    true,
    () => loadDefinitions().processMethod,
  ),
};

/** The same of `grpc.health.v1.Health`. */
export const healthService = {
  Check: healthMethod('Check', false),
  Watch: healthMethod('Watch', true),
};

type Definition = MethodDefinition<never, never, unknown, unknown>;

function healthMethod(name: 'Check' | 'Watch', responseStream: boolean): Method {
  const general = lazyMethod(`/grpc.health.v1.Health/${name}`, false, responseStream, () => {
    const method = loadDefinitions().healthService[name];
    if (method === undefined) throw new Error(`proto/ does not define grpc.health.v1.Health.${name}`);
    return method;
  });
  return {
    ...general,
    requestDeserialize: (bytes) => readHealthRequest(bytes) ?? general.requestDeserialize(bytes),
    responseSerialize: (value) => writeHealthResponse(value as HealthCheckResponse),
  };
}

function lazyMethod(path: string, requestStream: boolean, responseStream: boolean, load: () => Definition): Method {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: (value) => load().requestSerialize(value as never),
    requestDeserialize: (bytes) => load().requestDeserialize(bytes),
    responseSerialize: (value) => load().responseSerialize(value as never),
    responseDeserialize: (bytes) => load().responseDeserialize(bytes),
  };
}
