import { deserializeHealthCheck } from './deserialize-request.ts';
import { checkPath, healthCheckResponseStatusTag, servingStatus, watchPath } from './wire-numbers.ts';

export type ServingStatus = Exclude<keyof typeof servingStatus, 'UNKNOWN'>;

export interface HealthCheckResponse {
  readonly status: ServingStatus;
}

/** The service `grpc.health.v1.Health` for a gRPC server. */
export const healthService = {
  Check: healthMethod(checkPath, false),
  Watch: healthMethod(watchPath, true),
};

function healthMethod(path: string, responseStream: boolean) {
  return {
    path,
    requestStream: false,
    responseStream,
    requestDeserialize: deserializeHealthCheck,
    responseSerialize: ({ status }: HealthCheckResponse) =>
      Buffer.from([healthCheckResponseStatusTag, servingStatus[status]]),
    requestSerialize: onlyForClients,
    responseDeserialize: onlyForClients,
  };
}

function onlyForClients(): never {
  throw new Error('This is a server of the method.');
}
