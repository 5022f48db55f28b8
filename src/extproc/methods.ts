import { createRequire } from 'node:module';
import type { ServiceDefinition } from '@grpc/grpc-js';

// Loaded when a message first needs it: protobufjs and the protos would take a third of the time of a start.
const require = createRequire(import.meta.url);
let loaded: typeof import('./messages.ts') | undefined;

/** proto-loader's definitions; the first call takes some 30 ms. Throws when a file of `proto/` is missing or invalid. */
export function loadDefinitions(): typeof import('./messages.ts') {
  loaded ??= require('./messages.ts') as typeof import('./messages.ts');
  return loaded;
}

/** What a server has to know of `ExternalProcessor`; its messages are in `messages.ts`. */
export const processorService = {
  Process: lazyMethod(
    '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    true,
    true,
    () => loadDefinitions().processMethod,
  ),
} satisfies ServiceDefinition;

/** The same of `grpc.health.v1.Health`. */
export const healthService = {
  Check: lazyMethod('/grpc.health.v1.Health/Check', false, false, () => healthMethod('Check')),
  Watch: lazyMethod('/grpc.health.v1.Health/Watch', false, true, () => healthMethod('Watch')),
} satisfies ServiceDefinition;

function healthMethod(name: 'Check' | 'Watch'): Method {
  const method = loadDefinitions().healthService[name];
  if (method === undefined) throw new Error(`proto/ does not define grpc.health.v1.Health.${name}`);
  return method;
}

type Method = ServiceDefinition[string];

function lazyMethod(path: string, requestStream: boolean, responseStream: boolean, load: () => Method): Method {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: (value: unknown) => load().requestSerialize(value),
    requestDeserialize: (bytes: Buffer) => load().requestDeserialize(bytes),
    responseSerialize: (value: unknown) => load().responseSerialize(value),
    responseDeserialize: (bytes: Buffer) => load().responseDeserialize(bytes),
  };
}
