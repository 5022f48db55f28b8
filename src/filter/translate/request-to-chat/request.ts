import { isJsonObject } from '../../../formats/json/exact.ts';
import { objectOf } from '../../../formats/json/loose.ts';
import { type Profile, profileForModel } from '../../upstream/profile.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import type { ChatCompletionRequest, Passthrough } from '../../wire/schema/chat-request.ts';
import type { Clock, ResponseContext } from '../shared/context.ts';
import { Dropped, type UnknownType } from '../shared/dropped.ts';
import { Growth } from '../shared/growth.ts';
import type { CreateResponse, InputItem, InputMessage } from '../shared/parsed.ts';
import { carry, nothingRecorded } from '../shared/provenance.ts';
import { invalidValue, missingParameter, unsupportedParameter } from '../shared/request-errors.ts';
import { maxModelLength } from '../shared/request-fields.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import { ChatWriter } from './chat-writer.ts';
import { withholdReasoning } from './earlier-reasoning.ts';
import { buildEcho } from './echo.ts';
import { translateEffort } from './effort-to-chat.ts';
import { translateMessages } from './items-to-messages.ts';
import { pairCalls } from './pair-calls.ts';
import type { KnownTypes, RequestReading } from './parse/input-builder.ts';
import { parseRequest } from './parse/parse-request.ts';
import { withoutBackfill } from './passes/adapt-reasoning.ts';
import { calledName } from './passes/message-pass.ts';
import { translateTextFormat } from './text-format-to-chat.ts';
import { translateToolChoice } from './tool-choice-to-chat.ts';
import { createToolTable, type OfferedTool } from './tools-to-chat.ts';
import type { Constraints, TranslatedOperation } from './translated-operation.ts';

export interface TranslatedRequest {
  readonly chat: ChatCompletionRequest;
  readonly passthrough: Passthrough;
  readonly context: ResponseContext;
  /** Paths of what was dropped, each as `path` or `path.type`: for the response header, the log and the counter. */
  readonly dropped: readonly string[];
  readonly unknownTypes: readonly UnknownType[];
}

/** Translates a request; it is parsed first. Throws `ApiError` for the first mistake, after which nothing may reach the upstream. */
export function requestToChat(
  body: unknown,
  configured: TranslationSettings,
  clock: Clock,
  accepted: TranslatedOperation,
  known: KnownTypes,
): TranslatedRequest {
  const { provenance = nothingRecorded } = configured;
  provenance.begin(body);
  const settings = settingsForModel(configured, body);
  const dropped = new Dropped(provenance);
  const reading: RequestReading = { settings, dropped, provenance, known };
  const { request, passthrough } = parseRequest(body, reading);
  const model = request.model || settings.defaultModel;
  if (model === null || model === '') throw missingParameter('model');
  const { input } = request;
  if (input === null) throw missingParameter('input', 'Send a string, or an array of items.');
  const operation = accepted.forRequest(request, settings.profile);
  operation.check(request, settings);
  if (request.prewarm !== null && !operation.prewarms) dropped.push(request.prewarm);

  const checked: CheckedRequest = { body, request, input, model, operation, passthrough };
  const translated = translateParts(checked, reading);
  const chat = writeChat(checked, translated, reading);
  const { choice, wanted } = translated;
  const tier = findTier(request.service_tier, settings.profile);
  const made = { model, tier, toolChoice: choice.echo, format: translated.formatEcho };
  const echo = buildEcho(request, made, translated.withheld, reading);
  const wantsEncryptedReasoning = request.include.includes('reasoning.encrypted_content');
  const obfuscate = request.stream_options?.include_obfuscation ?? false;
  provenance.finish({ chat, passthrough, echo, wantsEncryptedReasoning, obfuscate });
  const context: ResponseContext = {
    answer: operation.answer,
    stream: request.stream ?? false,
    echo,
    ...buildToolContext(wanted.tools),
    earlierCallIds: new Set(input.flatMap((item) => (item.kind === 'call' ? [item.callId] : []))),
    allowedTools: choice.allowed,
    requiresCall: isRequired(wanted.toolChoice),
    wantsEncryptedReasoning,
    wantsLogprobs: wanted.logprobs,
    obfuscate,
    reasoningEvents: settings.reasoningEvents,
    reasoningAlone: settings.reasoningAlone,
    profile: settings.profile,
    createdAt: Math.floor(clock.now()),
    now: () => Math.floor(clock.now()),
    newId: clock.newId,
  };
  return {
    chat,
    passthrough: operation.passthrough(passthrough),
    context,
    dropped: dropped.names(),
    unknownTypes: dropped.unknownTypes(),
  };
}

/** The settings with the profile's flags for the model. A name that is too long matches no rule, and is refused later. */
function settingsForModel(settings: TranslationSettings, body: unknown): TranslationSettings {
  if (settings.profile.models.length === 0) return settings;
  const named = isJsonObject(body) ? body['model'] : null;
  const model = typeof named === 'string' && named !== '' ? named : (settings.defaultModel ?? '');
  if (model.length > maxModelLength) return settings;
  const profile = profileForModel(settings.profile, model);
  return profile === settings.profile ? settings : { ...settings, profile };
}

interface CheckedRequest {
  readonly body: unknown;
  readonly request: CreateResponse;
  readonly input: readonly InputItem[];
  readonly model: string;
  readonly operation: TranslatedOperation;
  readonly passthrough: Map<string, unknown>;
}

function logprobsAt({ include }: CreateResponse): number {
  return include.indexOf('message.output_text.logprobs');
}

function translateParts({ body, request, input, operation }: CheckedRequest, reading: RequestReading) {
  const { settings, provenance } = reading;
  const { profile } = settings;
  const given = withholdReasoning(input, request.reasoning?.context, reading);
  const growth = new Growth(body);
  const tools = createToolTable(request.tools, reading, growth);
  const choice = translateToolChoice(request.tool_choice, tools, request.text.format, reading);
  const format = translateTextFormat(request.text.format, choice.tools.length > 0, reading);
  const wanted = operation.constraints({
    tools: choice.tools,
    toolChoice: choice.chat,
    format: format.chat,
    formatText: format.system,
    logprobs: (request.top_logprobs ?? 0) > 0 || logprobsAt(request) !== -1,
  });
  if (wanted.tools.length > 0 && !profile.tools) {
    const message = `The upstream (profile '${profile.name}') does not accept tools. Leave 'tools' out.`;
    throw unsupportedParameter('tools', message);
  }
  const { items, maxTokens } = operation.conversation(request, given.items, reading);
  const instructions = systemMessage(request.instructions);
  if (instructions !== null) provenance.mark(instructions, 'instructions');
  const formatInWords = systemMessage(wanted.formatText);
  if (formatInWords !== null) carry(formatInWords, request.text.format);
  const leading = [instructions, formatInWords].filter((message) => message !== null);
  const messages = translateMessages(pairCalls(items, settings), leading, settings, tools, growth);
  if (messages.length === 0 && operation.answer.asksUpstream)
    throw invalidValue('input', `'input' contains nothing to answer. Send at least one message.`);
  return { messages, maxTokens, choice, wanted, formatEcho: format.echo, withheld: given.withheld };
}

function writeChat(
  checked: CheckedRequest,
  { messages, maxTokens, wanted }: ReturnType<typeof translateParts>,
  reading: RequestReading,
): ChatCompletionRequest {
  const { request, model, operation, passthrough } = checked;
  const { profile } = reading.settings;
  const written = new ChatWriter(request, reading);
  written.put('model', model, 'model');
  written.put('messages', messages, null);
  if (request.stream) {
    written.put('stream', true, 'stream');
    written.put('stream_options', streamOptions(profile), 'stream');
  }
  putConstraints(written, wanted);
  written.put(profile.maxTokensField, maxTokens, (operation.prewarms ? request.prewarm : null) ?? 'max_output_tokens');
  putSampling(written);
  if (wanted.logprobs) {
    const at = logprobsAt(request);
    written.put('logprobs', true, 'top_logprobs', at === -1 ? null : `include[${at}]`);
    written.put('top_logprobs', request.top_logprobs || null, 'top_logprobs');
  }
  putVendorFields(written);
  written.copy('moderation', 'moderation');
  if (profile.guardrails) written.copy('guardrails', 'guardrails');
  if (profile.stubTools && written.chat.tools === undefined) putStubTools(written);
  putReasoning(written, wanted, checked, reading);
  putDefaults(written.chat, passthrough, profile);
  return written.chat;
}

function putConstraints(written: ChatWriter, { tools, toolChoice, format }: Constraints): void {
  const { request, profile, dropped } = written;
  const areOffered = tools.length > 0;
  if (areOffered) {
    const chatTools = Array.from(tools, (tool) => tool.chat);
    written.put('tools', chatTools, null);
    if (profile.toolStream && request.stream) written.put('tool_stream', true, 'stream');
  }
  written.put('tool_choice', toolChoice, request.tool_choice);
  written.put('response_format', format, request.text.format);
  // OpenAI refuses the field without tools, and some servers refuse it always. Only `false` differs from the default.
  if (areOffered && profile.parallelToolCalls) written.copy('parallel_tool_calls', 'parallel_tool_calls');
  else if (areOffered && request.parallel_tool_calls === false) dropped.push('parallel_tool_calls');
}

function putReasoning(
  written: ChatWriter,
  { tools, toolChoice }: Constraints,
  { request, model, passthrough }: CheckedRequest,
  reading: RequestReading,
): void {
  const { reasoningEffort, reasoningBackfill: backfill } = written.profile;
  // A client that sends the server's own switch wants to set nothing else of the server's reasoning.
  const hasSwitch = reasoningEffort === 'thinking_and_effort' || reasoningEffort === 'thinking_keep';
  if (!hasSwitch || !passthrough.has('thinking')) {
    const offered = tools.length === 0 ? 'none' : isRequired(toolChoice) ? 'required' : 'offered';
    const made = translateEffort(request.reasoning?.effort ?? null, { model, tools: offered }, reading);
    for (const name of Object.keys(made) as (keyof typeof made)[])
      written.put(name, made[name] ?? null, reading.provenance.pathOf('reasoning.effort'));
  }
  const thinking = objectOf<Loose<'type'>>(passthrough.get('thinking') ?? written.chat.thinking);
  if (backfill?.on === 'calls_while_thinking' && thinking?.type === 'disabled')
    written.put('messages', withoutBackfill(written.chat.messages, backfill.text), null);
}

/** The names by which an answer calls the tools, and what each stands for. */
function buildToolContext(
  tools: readonly OfferedTool[],
): Pick<ResponseContext, 'toolNames' | 'restoredTools' | 'foundTools'> {
  return {
    toolNames: new Set(tools.map(({ name }) => name)),
    restoredTools: new Map(tools.filter(isRestored).map(({ name, origin }) => [name, origin])),
    foundTools: new Map(tools.flatMap(({ name, found }) => (found === null ? [] : [[name, found]]))),
  };
}

function isRequired(choice: ChatCompletionRequest['tool_choice']): boolean {
  if (typeof choice === 'object') return choice.type !== 'allowed_tools' || choice.allowed_tools.mode === 'required';
  return choice === 'required' || choice === 'any';
}

function systemMessage(text: string | null | undefined): InputMessage | null {
  return text == null || text === '' ? null : { kind: 'message', role: 'developer', content: [{ type: 'text', text }] };
}

function streamOptions({ includeUsage, openaiOnly }: Profile): ChatCompletionRequest['stream_options'] {
  if (!includeUsage && !openaiOnly) return undefined;
  return { ...(includeUsage && { include_usage: true }), ...(openaiOnly && { include_obfuscation: false }) };
}

/** Sampling parameters with the API's defaults, which nobody misses where the server refuses the field. */
const sampling = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 } as const;

function putSampling(written: ChatWriter): void {
  const { request, profile, dropped } = written;
  for (const name of Object.keys(sampling) as (keyof typeof sampling)[]) {
    if (!profile.refusedFields.includes(name)) written.copy(name, name);
    else if (request[name] != null && request[name] !== sampling[name]) dropped.push(name);
  }
}

/** Writes fields that not every server knows. Others are dropped and listed, but for a cache key, which agents send with every request. */
function putVendorFields(written: ChatWriter): void {
  const { request, profile, dropped } = written;
  const { verbosity } = request.text;
  if (profile.verbosity) written.put('verbosity', verbosity, 'text.verbosity');
  else if (verbosity != null && verbosity !== 'medium') dropped.push('text.verbosity');
  const tier = findTier(request.service_tier, profile);
  if (tier !== null && Object.hasOwn(profile.serviceTiers, tier))
    written.put('service_tier', profile.serviceTiers[tier], 'service_tier');
  else if (tier !== null && tier !== 'auto' && tier !== 'default') dropped.push('service_tier');
  if (profile.user) written.copy('user', 'user');
  else if (request.user != null) dropped.push('user');
  if (profile.safetyIdentifier) written.copy('safety_identifier', 'safety_identifier');
  else if (request.safety_identifier != null) dropped.push('safety_identifier');
  if (profile.promptCacheKey) written.copy('prompt_cache_key', 'prompt_cache_key');
  if (profile.openaiOnly) written.copy('prompt_cache_retention', 'prompt_cache_retention');
  else if (request.prompt_cache_retention === '24h') dropped.push('prompt_cache_retention');
  putCacheOptions(written);
  // No conversation is cut here (D11).
  if (request.truncation === 'auto') dropped.push('truncation');
}

/** The API's word for a tier, which may be given in the server's word. */
function findTier(given: string | null | undefined, { serviceTiers }: Profile): string | null {
  if (given == null || Object.hasOwn(serviceTiers, given)) return given ?? null;
  return Object.keys(serviceTiers).find((tier) => serviceTiers[tier] === given) ?? given;
}

/** Writes the cache options that Chat has, for a server with OpenAI's own fields. Others are dropped and listed, except defaults. */
function putCacheOptions(written: ChatWriter): void {
  const sent: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(written.request.prompt_cache_options ?? {})) {
    // Chat has no lifetime of 12 hours.
    const isChats = key === 'mode' || (key === 'ttl' && value !== '12h');
    // `prewarm: true` is an operation of its own.
    if (value === null || typeof value === 'boolean') continue;
    if (written.profile.openaiOnly && isChats) sent[key] = value;
    else if (value !== 'implicit' && value !== '30m') written.dropped.push(`prompt_cache_options.${key}`);
  }
  if (Object.keys(sent).length > 0) written.put('prompt_cache_options', sent, 'prompt_cache_options');
}

/** Sets the fields that the server is always sent. The request's own values win, key by key. */
function putDefaults(chat: ChatWriter['chat'], passthrough: Map<string, unknown>, { defaults }: Profile): void {
  const written = chat as Record<string, unknown>; // a profile may name any field
  for (const [name, value] of Object.entries(defaults)) {
    if (passthrough.has(name)) continue;
    const given = written[name];
    if (given === undefined) passthrough.set(name, value);
    else if (objectOf(given) !== null && objectOf(value) !== null) written[name] = Object.assign({}, value, given);
  }
}

/** Offers the tools called in the history, by name alone. They are not in the context: the answer may call none of them. */
function putStubTools(written: ChatWriter): void {
  const names = new Set(written.chat.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(calledName)));
  if (names.size === 0) return;
  const parameters = { type: 'object', properties: {} };
  const stubs = Array.from(names, (name) => ({ type: 'function' as const, function: { name, parameters } }));
  written.put('tools', stubs, null);
  if (written.profile.toolChoice.sent) written.put('tool_choice', 'none', null);
}

/** Must the Response give the tool back under another name or type? */
function isRestored({ name, origin }: OfferedTool): boolean {
  return origin.kind !== 'function' || origin.name !== name || origin.namespace !== undefined || origin.async === true;
}
