/**
 * The filter as others see it: pure functions and machines that make a Chat Completions server speak the Responses API. They open no
 * socket, and take time and ids as arguments. Whoever is outside `src/filter` imports from here alone; `docs/examples/without-envoy.ts`
 * shows the second group at work.
 */

// Run an exchange: one HTTP request and its response, as Envoy's ext_proc sees them. Messages go in, replies come out.
// biome-ignore lint/performance/noBarrelFile: a boundary, the only one; bundles leave out what they do not use
export { Exchange } from './exchange/exchange.ts';
export type { ExchangeOptions, ExchangeSettings } from './exchange/options.ts';
export { requestMoves, responseMoves } from './exchange/phases.ts';
export { ProtocolError } from './exchange/protocol-error.ts';
export { routeOf } from './exchange/request/route.ts';
export type { ExchangeSummary } from './exchange/summary.ts';
export type {
  BodyModes,
  ExchangeEvent,
  ExchangeReply,
  HeaderMap,
  HeaderMutation,
} from './exchange/types.ts';
export { deserializeRequest } from './extproc/deserialize-request.ts';
export { healthService } from './extproc/methods.ts';
export { serializeReply } from './extproc/serialize-reply.ts';
export { processPath } from './extproc/wire-numbers.ts';

// Translate: a request, a stream and a completion, without Envoy; and read what Chat servers say, as the translation does.
export { translateCompletion } from './translate/chat-to-response/completion.ts';
export { errorOfValue, translateError } from './translate/chat-to-response/error.ts';
export { choiceOf } from './translate/chat-to-response/read/choices.ts';
export { saysContextOverflow } from './translate/chat-to-response/read/context-overflow.ts';
export { readErrorBody } from './translate/chat-to-response/read/error-body.ts';
export { logprobsOf } from './translate/chat-to-response/read/logprobs.ts';
export { reasoningOf } from './translate/chat-to-response/read/reasoning-source.ts';
export { ThinkTagReader } from './translate/chat-to-response/read/think-tags.ts';
export { StreamTranslator } from './translate/chat-to-response/stream.ts';
export { contextWindowIn, takesImages } from './translate/operations/catalog.ts';
export { responseAnswer } from './translate/operations/operation.ts';
// Describe: the servers and their flags, what may be set, where a field came from, and the shapes of both APIs.
export { isHostedTool } from './translate/request-to-chat/parse/parse-tools.ts';
export type { ResponseContext } from './translate/shared/context.ts';
export { RecordedProvenance } from './translate/shared/provenance.ts';
export { repairKinds } from './translate/shared/repairs.ts';
export type { OperatorSettings } from './translate/shared/settings.ts';
export { translateRequest } from './translate/translate-request.ts';
export { templateRules } from './upstream/chat-templates.ts';
export { type Profile, type ProfileFlags, profileFlags } from './upstream/profile.ts';
export { profileForModel } from './upstream/profile-for-model.ts';
export { builtInProfiles } from './upstream/profiles.ts';
export { profilesFile } from './upstream/profiles-file-on-demand.ts';
export { effortTable } from './upstream/servers/effort-table.ts';
export { ApiError, type ApiErrorObject } from './wire/schema/api-error.ts';
export type { LooseChunk, LooseMessage } from './wire/schema/chat-completion.ts';
export { chatRequestBody } from './wire/schema/chat-request.ts';
export { toolNamePattern } from './wire/schema/create-response.ts';
export { estimatedOutput, estimatedTokens } from './wire/schema/estimate.ts';
export type { OutputItem, Usage } from './wire/schema/response-resource.ts';
export { isDelta } from './wire/schema/stream-events.ts';
export { encodeSseEvents } from './wire/sse/encode-events.ts';
