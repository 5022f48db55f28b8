import { loadSync, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import type { ExternalProcessorDefinition } from './generated/envoy/service/ext_proc/v3/ExternalProcessor.ts';
import { protoFiles, protoFolder } from './proto-files.ts';

// The options decide the shape of the values; the types in `generated/` are made with the same (`scripts/wire-types.ts`).
const definitions = loadSync(protoFiles, {
  includeDirs: [protoFolder],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: false,
  oneofs: false,
});

/** `ExternalProcessor.Process`, with protobufjs as its (de)serialiser. */
export const processMethod = methodOf('envoy.service.ext_proc.v3.ExternalProcessor', 'Process');

/** `grpc.health.v1.Health`. */
export const healthService = serviceOf('grpc.health.v1.Health');

function serviceOf(name: string): ServiceDefinition {
  const definition: PackageDefinition[string] | undefined = definitions[name];
  if (definition === undefined || 'format' in definition) throw new Error(`proto/ does not define the service ${name}`);
  return definition as ServiceDefinition;
}

function methodOf(service: string, name: 'Process'): ExternalProcessorDefinition['Process'] {
  const method = serviceOf(service)[name];
  if (method === undefined) throw new Error(`proto/ does not define ${service}.${name}`);
  // proto-loader's method is untyped; the generated types are those of this one.
  return method as ExternalProcessorDefinition['Process'];
}
