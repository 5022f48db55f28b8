import { fileURLToPath } from 'node:url';

/** Where the definitions of messages are, and those that are loaded from there when a message first needs them. */
export const protoFolder = fileURLToPath(new URL('../../../proto', import.meta.url));
export const protoFiles = ['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'];
