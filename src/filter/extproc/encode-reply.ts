import type { BodyModes, ExchangeReply, HeaderMutation, UsageMetadata } from '../exchange/types.ts';
import type { BodyMutation } from './generated/envoy/service/ext_proc/v3/BodyMutation.ts';
import type { CommonResponse } from './generated/envoy/service/ext_proc/v3/CommonResponse.ts';
import type { HeaderMutation as WireHeaderMutation } from './generated/envoy/service/ext_proc/v3/HeaderMutation.ts';
import type { ProcessingResponse } from './generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';
import type { Struct } from './generated/google/protobuf/Struct.ts';

/** A reply as the `ProcessingResponse` Envoy expects in the body modes in force. */
export function encodeReply(reply: ExchangeReply, modes: BodyModes): ProcessingResponse {
  const message = encodeMessage(reply, modes);
  if (!('metadata' in reply) || reply.metadata === undefined) return message;
  return {
    ...message,
    dynamic_metadata: { fields: { [metadataNamespace]: { structValue: structOf(reply.metadata) } } },
  };
}

/** Of the dynamic metadata; the filter's `metadata_options` must list it. */
export const metadataNamespace = 'responses_extproc';

/** Text may become part of a header or of a line in a log, so it is reduced like a header's. */
function structOf(metadata: UsageMetadata): Struct {
  const fields = Object.entries(metadata).map(([name, value]) => [
    name,
    typeof value === 'number' ? { numberValue: value } : { stringValue: headerText(value) },
  ]);
  return { fields: Object.fromEntries(fields) };
}

function encodeMessage(reply: ExchangeReply, modes: BodyModes): ProcessingResponse {
  switch (reply.type) {
    case 'request_headers':
    case 'response_headers':
      return { [reply.type]: common(reply.headers, undefined) };
    case 'request_body':
    case 'response_body': {
      const mode = reply.type === 'request_body' ? modes.request : modes.response;
      const mutation =
        mode === 'FULL_DUPLEX_STREAMED'
          ? { streamed_response: { body: reply.body ?? noBytes, end_of_stream: reply.endOfStream } }
          : replacement(reply.body);
      return { [reply.type]: common(reply.headers, mutation) };
    }
    case 'request_trailers':
    case 'response_trailers': {
      const mutation = mutationOf(reply.headers ?? {});
      return { [reply.type]: mutation === undefined ? {} : { header_mutation: mutation } };
    }
    case 'immediate_response':
      return {
        immediate_response: {
          status: { code: reply.status },
          headers: mutationOf({ set: reply.headers }) ?? {},
          body: reply.body,
          details: reply.details,
        },
      };
  }
}

const noBytes = Buffer.alloc(0);

/** Absent bytes pass Envoy's own through; an empty body needs `clear_body`. */
function replacement(body: Uint8Array | undefined): BodyMutation | undefined {
  if (body === undefined) return undefined;
  return body.length === 0 ? { clear_body: true } : { body };
}

function common(headers: HeaderMutation | undefined, body: BodyMutation | undefined): { response: CommonResponse } {
  const mutation = headers === undefined ? undefined : mutationOf(headers);
  return {
    response: {
      ...(mutation === undefined ? {} : { header_mutation: mutation }),
      ...(body === undefined ? {} : { body_mutation: body }),
    },
  };
}

function mutationOf({ set = {}, remove = [] }: HeaderMutation): WireHeaderMutation | undefined {
  const entries = Object.entries(set).filter(([name]) => isHeaderName(name));
  if (entries.length === 0 && remove.length === 0) return undefined;
  return {
    set_headers: entries.map(([key, value]) => ({
      header: { key, raw_value: Buffer.from(headerText(value), 'latin1') },
      // The default of `append_action` differs between Envoy versions, so it is always set.
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    })),
    remove_headers: [...remove],
  };
}

/** Whether Envoy accepts it as the name of a header; a mutation of any other name is omitted. */
export function isHeaderName(name: string): boolean {
  return headerName.test(name);
}

const headerName = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Printable ASCII only: no line break and no invalid byte of an upstream or a client gets into a header. */
export function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '?').trim();
}
