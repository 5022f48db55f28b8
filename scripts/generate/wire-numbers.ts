/** The numbers that the reader and the writer of ext_proc use, taken from `proto/` with proto-loader: each a constant, which bundles inline. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AnyDefinition, loadSync } from '@grpc/proto-loader';
import type { Generator } from './generator.ts';

interface Field {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly label: string;
}
interface Message {
  readonly field: readonly Field[];
  readonly enumType: readonly { readonly name: string; readonly value: readonly Field[] }[];
}

const [extProc, core] = ['envoy.service.ext_proc.v3', 'envoy.config.core.v3'];
/** Fields that are read, by message. */
const read = {
  [`${extProc}.ProcessingRequest`]: `request_headers response_headers request_body response_body request_trailers response_trailers
    attributes observability_mode protocol_config`,
  [`${extProc}.ProtocolConfiguration`]: 'request_body_mode response_body_mode',
  [`${extProc}.HttpHeaders`]: 'headers end_of_stream',
  [`${extProc}.HttpBody`]: 'body end_of_stream',
  [`${core}.HeaderMap`]: 'headers',
  [`${core}.HeaderValue`]: 'key value raw_value',
  'google.protobuf.Struct': 'fields',
  'google.protobuf.Value': 'string_value',
  'grpc.health.v1.HealthCheckRequest': 'service',
};
/** Fields that are written: of these the tag, which is the number with the wire type. */
const written = {
  [`${extProc}.ProcessingResponse`]: `request_headers response_headers request_body response_body request_trailers response_trailers
    immediate_response dynamic_metadata`,
  [`${extProc}.HeadersResponse`]: 'response',
  [`${extProc}.BodyResponse`]: 'response',
  [`${extProc}.TrailersResponse`]: 'header_mutation',
  [`${extProc}.CommonResponse`]: 'header_mutation body_mutation',
  [`${extProc}.ImmediateResponse`]: 'status headers body details',
  [`${extProc}.HeaderMutation`]: 'set_headers remove_headers',
  [`${extProc}.BodyMutation`]: 'body clear_body streamed_response',
  [`${extProc}.StreamedBodyResponse`]: 'body end_of_stream',
  [`${core}.HeaderValueOption`]: 'header append_action',
  [`${core}.HeaderValue`]: 'key raw_value',
  'envoy.type.v3.HttpStatus': 'code',
  'google.protobuf.Struct': 'fields',
  'google.protobuf.Value': 'number_value string_value struct_value',
  'grpc.health.v1.HealthCheckResponse': 'status',
};
/** Enums, by the message that has them. */
const enums = {
  'envoy.extensions.filters.http.ext_proc.v3.ProcessingMode': 'BodySendMode',
  [`${core}.HeaderValueOption`]: 'HeaderAppendAction',
  'grpc.health.v1.HealthCheckResponse': 'ServingStatus',
};
const paths = {
  [`${extProc}.ExternalProcessor`]: 'Process',
  'grpc.health.v1.Health': 'Check Watch',
};

/** The wire type of a field that is no message, text or bytes. */
const wireTypes: Readonly<Record<string, number>> = {
  TYPE_BOOL: 0,
  TYPE_ENUM: 0,
  TYPE_INT32: 0,
  TYPE_DOUBLE: 1,
  TYPE_MESSAGE: 2,
  TYPE_STRING: 2,
  TYPE_BYTES: 2,
};

export const wireNumbers: Generator = {
  name: 'numbers and paths of the wire',
  source: 'proto',
  files() {
    const definitions = loadSync(
      ['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'],
      {
        includeDirs: [join(import.meta.dirname, '../../proto')],
        keepCase: true,
      },
    );
    const messageOf = (name: string) => {
      const { type } = definitions[name] as AnyDefinition & { readonly type: Message };
      if (type === undefined) throw new Error(`proto/ has no message ${name}.`);
      return type;
    };
    const lines = (rows: Readonly<Record<string, string>>, line: (owner: string, name: string) => string) =>
      Object.entries(rows).flatMap(([owner, names]) => names.split(/\s+/).map((name) => line(owner, name)));
    const fieldOf = (message: string, name: string) => {
      const field = messageOf(message).field.find((one) => one.name === name || snakeCase(one.name) === name);
      if (field === undefined) throw new Error(`${message} of proto/ has no field ${name}.`);
      return field;
    };
    const text = [
      '// Written by npm run generate from proto/ (scripts/generate/wire-numbers.ts).',
      '',
      '// Fields that are read: their numbers.',
      ...lines(read, (message, name) => `export const ${constant(message, name)} = ${fieldOf(message, name).number};`),
      '',
      '// Fields that are written: their tags, the number with the wire type.',
      ...lines(written, (message, name) => {
        const { number, type } = fieldOf(message, name);
        const wireType = wireTypes[type];
        if (wireType === undefined)
          throw new Error(`${message}.${name} has the type ${type}, which is not written here.`);
        return `export const ${constant(message, name)}Tag = 0x${((number << 3) | wireType).toString(16).padStart(2, '0')};`;
      }),
      '',
      '// Numbers of enums, by name.',
      ...lines(enums, (message, name) => {
        const found = messageOf(message).enumType.find((one) => one.name === name);
        if (found === undefined) throw new Error(`${message} of proto/ has no enum ${name}.`);
        const values = found.value.map((value) => `  ${value.name}: ${value.number},`);
        return `export const ${name[0]?.toLowerCase()}${name.slice(1)} = {\n${values.join('\n')}\n} as const;`;
      }),
      '',
      '// Paths of methods.',
      ...lines(paths, (service, name) => {
        const { path } = (definitions[service] as Readonly<Record<string, { readonly path: string }>>)[name] ?? {};
        if (path === undefined) throw new Error(`${service} of proto/ has no method ${name}.`);
        return `export const ${constant('', name)}Path = '${path}';`;
      }),
    ].join('\n');
    return { 'src/filter/extproc/wire-numbers.ts': `${text}\n` };
  },
};

/** Throws where the sources have other numbers than `proto/`: a service with them would read another field, and say nothing. */
export function checkWireNumbers(): void {
  for (const [path, text] of Object.entries(wireNumbers.files())) {
    if (readFileSync(join(import.meta.dirname, '../..', path), 'utf8') !== text)
      throw new Error(`${path} differs from proto/. Run npm run generate.`);
  }
}

/** `HttpBody`, `end_of_stream` → `httpBodyEndOfStream`. */
function constant(message: string, field: string): string {
  const words = [...(message.split('.').at(-1) ?? '').split(/(?=[A-Z])/), ...field.split(/_|(?=[A-Z])/)].filter(
    Boolean,
  );
  return words
    .map((word, index) => (index === 0 ? word.toLowerCase() : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');
}

/** proto-loader's own definitions of Google's types have names in camelCase. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
