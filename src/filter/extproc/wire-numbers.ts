// Written by npm run generate from proto/ (scripts/generate/wire-numbers.ts).

// Fields that are read: their numbers.
export const processingRequestRequestHeaders = 2;
export const processingRequestResponseHeaders = 3;
export const processingRequestRequestBody = 4;
export const processingRequestResponseBody = 5;
export const processingRequestRequestTrailers = 6;
export const processingRequestResponseTrailers = 7;
export const processingRequestAttributes = 9;
export const processingRequestObservabilityMode = 10;
export const processingRequestProtocolConfig = 11;
export const protocolConfigurationRequestBodyMode = 1;
export const protocolConfigurationResponseBodyMode = 2;
export const httpHeadersHeaders = 1;
export const httpHeadersEndOfStream = 3;
export const httpBodyBody = 1;
export const httpBodyEndOfStream = 2;
export const headerMapHeaders = 1;
export const headerValueKey = 1;
export const headerValueValue = 2;
export const headerValueRawValue = 3;
export const structFields = 1;
export const valueStringValue = 3;
export const healthCheckRequestService = 1;

// Fields that are written: their tags, the number with the wire type.
export const processingResponseRequestHeadersTag = 0x0a;
export const processingResponseResponseHeadersTag = 0x12;
export const processingResponseRequestBodyTag = 0x1a;
export const processingResponseResponseBodyTag = 0x22;
export const processingResponseRequestTrailersTag = 0x2a;
export const processingResponseResponseTrailersTag = 0x32;
export const processingResponseImmediateResponseTag = 0x3a;
export const processingResponseDynamicMetadataTag = 0x42;
export const headersResponseResponseTag = 0x0a;
export const bodyResponseResponseTag = 0x0a;
export const trailersResponseHeaderMutationTag = 0x0a;
export const commonResponseHeaderMutationTag = 0x12;
export const commonResponseBodyMutationTag = 0x1a;
export const immediateResponseStatusTag = 0x0a;
export const immediateResponseHeadersTag = 0x12;
export const immediateResponseBodyTag = 0x1a;
export const immediateResponseDetailsTag = 0x2a;
export const headerMutationSetHeadersTag = 0x0a;
export const headerMutationRemoveHeadersTag = 0x12;
export const bodyMutationBodyTag = 0x0a;
export const bodyMutationClearBodyTag = 0x10;
export const bodyMutationStreamedResponseTag = 0x1a;
export const streamedBodyResponseBodyTag = 0x0a;
export const streamedBodyResponseEndOfStreamTag = 0x10;
export const headerValueOptionHeaderTag = 0x0a;
export const headerValueOptionAppendActionTag = 0x18;
export const headerValueKeyTag = 0x0a;
export const headerValueRawValueTag = 0x1a;
export const httpStatusCodeTag = 0x08;
export const structFieldsTag = 0x0a;
export const valueNumberValueTag = 0x11;
export const valueStringValueTag = 0x1a;
export const valueStructValueTag = 0x2a;
export const healthCheckResponseStatusTag = 0x08;

// Numbers of enums, by name.
export const bodySendMode = {
  NONE: 0,
  STREAMED: 1,
  BUFFERED: 2,
  BUFFERED_PARTIAL: 3,
  FULL_DUPLEX_STREAMED: 4,
  GRPC: 5,
} as const;
export const headerAppendAction = {
  APPEND_IF_EXISTS_OR_ADD: 0,
  ADD_IF_ABSENT: 1,
  OVERWRITE_IF_EXISTS_OR_ADD: 2,
  OVERWRITE_IF_EXISTS: 3,
} as const;
export const servingStatus = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
} as const;

// Paths of methods.
export const processPath = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';
export const checkPath = '/grpc.health.v1.Health/Check';
export const watchPath = '/grpc.health.v1.Health/Watch';
