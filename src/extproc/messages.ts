import { fileURLToPath } from 'node:url';
import { loadSync, type MethodDefinition, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import type { BodyMode } from '../exchange/types.ts';

/** The messages of `external_processor.proto` as proto-loader gives and takes them: field names of the proto, absent fields absent. */

export interface WireHeaderMap {
  readonly headers?: readonly { readonly key?: string; readonly value?: string; readonly raw_value?: Uint8Array }[];
}
interface WireHeaders {
  readonly headers?: WireHeaderMap | null;
  readonly end_of_stream?: boolean;
}
interface WireBody {
  readonly body?: Uint8Array;
  readonly end_of_stream?: boolean;
}

export interface ProcessingRequest {
  readonly request_headers?: WireHeaders | null;
  readonly response_headers?: WireHeaders | null;
  readonly request_body?: WireBody | null;
  readonly response_body?: WireBody | null;
  readonly request_trailers?: { readonly trailers?: WireHeaderMap | null } | null;
  readonly response_trailers?: { readonly trailers?: WireHeaderMap | null } | null;
  readonly observability_mode?: boolean;
  readonly protocol_config?: {
    readonly request_body_mode?: BodyMode | 'GRPC';
    readonly response_body_mode?: BodyMode | 'GRPC';
  } | null;
}

export interface WireHeaderMutation {
  readonly set_headers?: readonly {
    readonly header: { readonly key: string; readonly raw_value: Uint8Array };
    readonly append_action: 'OVERWRITE_IF_EXISTS_OR_ADD';
  }[];
  readonly remove_headers?: readonly string[];
}

export type WireBodyMutation =
  | { readonly body: Uint8Array }
  | { readonly clear_body: true }
  | { readonly streamed_response: { readonly body: Uint8Array; readonly end_of_stream: boolean } };

export interface WireCommonResponse {
  readonly response: {
    readonly header_mutation?: WireHeaderMutation;
    readonly body_mutation?: WireBodyMutation;
  };
}

export interface ProcessingResponse {
  readonly request_headers?: WireCommonResponse;
  readonly response_headers?: WireCommonResponse;
  readonly request_body?: WireCommonResponse;
  readonly response_body?: WireCommonResponse;
  readonly request_trailers?: { readonly header_mutation?: WireHeaderMutation };
  readonly response_trailers?: { readonly header_mutation?: WireHeaderMutation };
  readonly immediate_response?: {
    readonly status: { readonly code: number };
    readonly headers: WireHeaderMutation;
    readonly body: Uint8Array;
    readonly details: string;
  };
}

const definitions = loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [fileURLToPath(new URL('../../proto', import.meta.url))],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: false,
  oneofs: false,
});

/** `ExternalProcessor.Process`, with the proto's own (de)serialisers. */
export const processMethod = methodOf('envoy.service.ext_proc.v3.ExternalProcessor', 'Process') as MethodDefinition<
  ProcessingRequest,
  ProcessingResponse
>;

/** `grpc.health.v1.Health`. */
export const healthService = serviceOf('grpc.health.v1.Health');

function serviceOf(name: string): ServiceDefinition {
  const definition: PackageDefinition[string] | undefined = definitions[name];
  if (definition === undefined || 'format' in definition) throw new Error(`proto/ does not define the service ${name}`);
  return definition as ServiceDefinition;
}

function methodOf(service: string, name: string): MethodDefinition<object, object> {
  const method = serviceOf(service)[name];
  if (method === undefined) throw new Error(`proto/ does not define ${service}.${name}`);
  return method;
}
