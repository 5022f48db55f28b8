/**
 * The filter as others see it: pure functions and machines that make a Chat Completions server speak the Responses API. They open no
 * socket, and take time and ids as arguments. Whoever is outside `src/filter` imports from here alone; `docs/examples/without-envoy.ts`
 * shows the second group at work, with a profile and the SSE reader of `src/formats`.
 */

// Run an exchange: one HTTP request and its response, as Envoy's ext_proc sees them. Messages go in, replies come out.

// biome-ignore lint/performance/noBarrelFile: a boundary, the only one; bundles leave out what they do not use
export { Exchange } from './exchange/exchange.ts';
export type { ExchangeOptions, ExchangeSettings } from './exchange/options.ts';
export { ProtocolError, requestMoves, responseMoves } from './exchange/phases.ts';
export { chooseRoute, type Route } from './exchange/request/route.ts';
export type { ExchangeSummary } from './exchange/summary.ts';
export type {
  BodyModes,
  ExchangeEvent,
  ExchangeReply,
  HeaderMap,
  HeaderMutation,
  Replies,
  Schedule,
  Steps,
} from './exchange/types.ts';
export { type DecodedRequest, deserializeRequest } from './extproc/deserialize-request.ts';
export { type HealthCheckResponse, healthService } from './extproc/methods.ts';
export { serializeReply } from './extproc/serialize-reply.ts';
export { processPath } from './extproc/wire-numbers.ts';

// Translate, without Envoy: a request, a stream, a completion, an error. And read parts of what servers say, as the translation does.

export { type ChunkFacts, readChunkFacts } from './translate/chat-to-response/chunk-facts.ts';
export { type TranslatedCompletion, translateCompletion } from './translate/chat-to-response/completion.ts';
export { type ErrorAnswer, translateError, type Wordings } from './translate/chat-to-response/error.ts';
export { type ErrorReading, readErrorBody } from './translate/chat-to-response/read/error-body.ts';
export { ThinkTagReader, type ThinkTagTexts } from './translate/chat-to-response/read/think-tags.ts';
export { type StreamReport, StreamTranslator } from './translate/chat-to-response/stream.ts';
export { type ListedModel, readListedModel } from './translate/operations/catalog.ts';
export type { TranslatedRequest } from './translate/request-to-chat/request.ts';
export type { TranslatedOperation } from './translate/request-to-chat/translated-operation.ts';
export type { Clock, ResponseContext } from './translate/shared/context.ts';
export { translateRequest } from './translate/translate-request.ts';
export { ApiError, type ApiErrorObject, type ApiErrorOptions } from './wire/schema/api-error.ts';
export { type ChatCompletionRequest, chatRequestBody, type Passthrough } from './wire/schema/chat-request.ts';
export type { ResponseStreamEvent } from './wire/schema/stream-events.ts';
export { encodeSseEvents } from './wire/sse/encode-events.ts';

// Describe: the servers and their flags, what may be set, where a field came from, what may be counted.

export { isHostedTool } from './translate/request-to-chat/parse/parse-tools.ts';
export { repairKinds } from './translate/shared/context.ts';
export { checkMove, type Moves } from './translate/shared/moves.ts';
export {
  type ItemPath,
  RecordedProvenance,
  type RecordedResult,
  type Replaced,
  type Sources,
} from './translate/shared/provenance.ts';
export type { OperatorSettings, TranslationSettings } from './translate/shared/settings.ts';
export { templateRules } from './upstream/chat-templates.ts';
export {
  type ModelRule,
  type Profile,
  type ProfileFlags,
  profileFlags,
  profileForModel,
} from './upstream/profile.ts';
export { builtInProfiles } from './upstream/profiles.ts';
export { profilesFile } from './upstream/profiles-file-on-demand.ts';
export { effortTable } from './upstream/servers/effort-table.ts';
export type { BuiltInProfile } from './upstream/servers/generic.ts';
export { toolNamePattern } from './wire/schema/create-response.ts';
export { estimatedOutput, estimatedTokens } from './wire/schema/estimate.ts';
