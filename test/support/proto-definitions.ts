import { join } from 'node:path';
import { loadSync, type MethodDefinition, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import type { ExternalProcessorDefinition } from './generated/envoy/service/ext_proc/v3/ExternalProcessor.ts';

/** The messages of `proto/` as protobufjs reads and writes them: what the service writes and reads by hand is held against it. */

// The options decide the shape of the values; the types in `generated/` are made with the same (`scripts/generate/wire-types.ts`).
const definitions = loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [join(import.meta.dirname, '../../proto')],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: false,
  oneofs: false,
});

/** `ExternalProcessor.Process`, with protobufjs as its (de)serialiser. */
export const processMethod = methodOf('envoy.service.ext_proc.v3.ExternalProcessor', 'Process');

/** `grpc.health.v1.Health`. */
export const healthService = serviceOf('grpc.health.v1.Health') as Readonly<
  Record<'Check' | 'Watch', MethodDefinition<{ service?: string }, { status: string }>>
>;

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
