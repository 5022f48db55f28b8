import type { IncomingHttpHeaders } from 'node:http2';
import { deserializeHealthCheck } from './deserialize-request.ts';

/** The metadata with which a gRPC call was opened, sent as HTTP/2 headers. Names are in lower case. */
export type CallMetadata = Readonly<IncomingHttpHeaders>;

/** The method that Envoy calls. */
export const processPath = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

const statusNumbers = { SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 };
export type ServingStatus = keyof typeof statusNumbers;

/** `grpc.health.v1.Health`, as a gRPC server takes it. */
export const healthService = {
  Check: healthMethod('Check', false),
  Watch: healthMethod('Watch', true),
};

function healthMethod(name: 'Check' | 'Watch', responseStream: boolean) {
  return {
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream,
    requestDeserialize: deserializeHealthCheck,
    responseSerialize: ({ status }: { readonly status: ServingStatus }) => Buffer.from([0x08, statusNumbers[status]]),
    requestSerialize: onlyForClients,
    responseDeserialize: onlyForClients,
  };
}

function onlyForClients(): never {
  throw new Error('This is a server of the method.');
}
