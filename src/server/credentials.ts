import { ServerCredentials } from '@grpc/grpc-js';
import type { Config } from '../config.ts';

/** How the gRPC port is secured. */
export function credentialsOf(_config: Config): ServerCredentials {
  return ServerCredentials.createInsecure();
}
