import type { Profile } from '../upstream/profile.ts';
import type { ChatCompletionRequest, Passthrough } from '../wire/schema/chat-request.ts';
import { objectOf } from './chat/loose.ts';
import type { NewId, ResponseContext } from './context.ts';
import { integerPlacesOf } from './integer-places.ts';
import type { TranslatedOperation } from './operations/operation.ts';
import { responses } from './operations/responses.ts';
import { ChatWriter } from './request/chat-writer.ts';
import { Dropped, type UnknownType } from './request/dropped.ts';
import { earlierReasoningOf } from './request/earlier-reasoning.ts';
import { echoOf } from './request/echo.ts';
import { translateEffort } from './request/effort-to-chat.ts';
import { translateMessages } from './request/items-to-messages.ts';
import { pairCalls } from './request/pair-calls.ts';
import { parseRequest } from './request/parse/parse-request.ts';
import { settingsForModel } from './request/parse/settings-for-model.ts';
import type { CreateResponse, InputItem, InputMessage, InputReasoning } from './request/parsed.ts';
import { withoutBackfill } from './request/passes/adapt-reasoning.ts';
import { invalidValue, missingParameter, unsupportedParameter } from './request/request-errors.ts';
import { translateTextFormat } from './request/text-format-to-chat.ts';
import { translateToolChoice } from './request/tool-choice-to-chat.ts';
import { createToolTable, type OfferedTool } from './request/tools-to-chat.ts';
import { carry, mark } from './request/trace.ts';
import { withholdReasoning } from './request/withhold-reasoning.ts';
import type { TranslationSettings } from './settings.ts';

export interface TranslatedRequest {
  /** The request for the upstream, without `passthrough`: `chatRequestJson` writes both. */
  readonly chat: ChatCompletionRequest;
  /** The client's own fields that go to the upstream as they came. */
  readonly passthrough: Passthrough;
  /** What the response's translation needs. */
  readonly context: ResponseContext;
  /** What a setting or the profile left out, each as `path` or `path.type`: for the response header, the log and the counter. */
  readonly dropped: readonly string[];
  /** Types of items, parts and tools that this version does not know. */
  readonly unknownTypes: readonly UnknownType[];
}

/**
 * A JSON value, as the client sent it, as a Chat Completions request: parsed first, translated after that. Throws
 * `ApiError` for the first mistake; then nothing may reach the upstream. `clock.now` gives Unix seconds.
 */
export function translateRequest(
  body: unknown,
  configured: TranslationSettings,
  clock: { readonly now: () => number; readonly newId: NewId },
  accepted: TranslatedOperation = responses,
): TranslatedRequest {
  const settings = settingsForModel(configured, body);
  const { profile } = settings;
  const { trace } = settings;
  const dropped = new Dropped(trace);
  const { request, passthrough } = parseRequest(body, settings, dropped);
  const { input } = request;
  const model = request.model || settings.defaultModel;
  if (model === null || model === '') throw missingParameter('model');
  if (input === null) throw missingParameter('input', 'Send a string, or an array of items.');
  const operation = accepted.of(request, profile);
  operation.check(request, settings);
  if (request.prewarm !== null && !operation.prewarms) dropped.push(request.prewarm);
  if (profile.reasoningReplay === 'none' && input.some((item) => item.kind === 'reasoning' && isText(item, settings)))
    dropped.push('input[].reasoning');
  const tools = createToolTable(request.tools, profile, dropped);
  const format = translateTextFormat(request.text.format, tools.offered.length > 0, settings, dropped);
  const choice = translateToolChoice(request.tool_choice, tools, settings, dropped);
  const logprobsAt = request.include.indexOf('message.output_text.logprobs');
  const wanted = operation.constraints({
    tools: choice.tools,
    toolChoice: choice.chat,
    format: format.chat,
    formatText: format.system,
    logprobs: (request.top_logprobs ?? 0) > 0 || logprobsAt !== -1,
  });
  const given = withholdReasoning(input, request.reasoning?.context, settings, dropped);
  const { items, maxTokens } = operation.conversation(request, given.items, settings, dropped);
  const instructions = systemMessage(request.instructions);
  if (trace !== undefined && instructions !== null) mark(instructions, 'instructions');
  const formatInWords = systemMessage(wanted.formatText);
  if (formatInWords !== null) carry(formatInWords, request.text.format);
  const messages = translateMessages(
    pairCalls(items, settings),
    [instructions, formatInWords].filter((message) => message !== null),
    settings,
    tools,
  );
  if (messages.length === 0 && operation.answer.asksUpstream) {
    throw invalidValue('input', `'input' holds nothing that could be answered. Send a message.`);
  }
  const stream = request.stream ?? false;

  const written = new ChatWriter(request, trace);
  written.put('model', model, 'model');
  written.put('messages', messages, null);
  if (stream) {
    written.put('stream', true, 'stream');
    written.put('stream_options', streamOptions(profile), 'stream');
  }
  const offered = wanted.tools;
  if (offered.length > 0 && !profile.tools) {
    throw unsupportedParameter('tools', `The upstream (profile '${profile.name}') takes no tools. Leave 'tools' out.`);
  }
  if (offered.length > 0) written.put('tools', offered.map(chatOf), null);
  if (profile.toolStream && stream && offered.length > 0) written.put('tool_stream', true, 'stream');
  written.put('tool_choice', wanted.toolChoice, request.tool_choice);
  written.put('response_format', wanted.format, request.text.format);
  written.put(
    'parallel_tool_calls',
    parallelToolCalls(request, offered.length > 0, profile, dropped),
    'parallel_tool_calls',
  );
  written.put(profile.maxTokensField, maxTokens, (operation.prewarms ? request.prewarm : null) ?? 'max_output_tokens');
  putSampling(written, request, profile, dropped);
  if (wanted.logprobs) {
    written.put('logprobs', true, 'top_logprobs', logprobsAt === -1 ? null : `include[${logprobsAt}]`);
    written.put('top_logprobs', request.top_logprobs || null, 'top_logprobs');
  }
  putVendorFields(written, request, profile, dropped);
  written.copy('moderation', 'moderation');
  if (profile.guardrails) written.copy('guardrails', 'guardrails');
  if (profile.stubTools && written.chat.tools === undefined) putStubTools(written, profile);
  const effort = request.reasoning?.effort ?? null;
  // The client's own switch is all that it wants to set of the server's reasoning.
  const hasOwnSwitch = hasThinking(profile) && passthrough.has('thinking');
  if (!hasOwnSwitch) {
    const tools = offered.length === 0 ? 'none' : isRequired(wanted.toolChoice) ? 'required' : 'offered';
    const made = translateEffort(effort, { model, tools }, profile, dropped);
    written.putAll(made, trace?.setBy.effort ?? 'reasoning.effort');
  }
  const { chat } = written;
  const backfill = profile.reasoningBackfill;
  if (backfill?.on === 'calls_while_thinking' && isOff(passthrough.get('thinking') ?? chat.thinking))
    written.put('messages', withoutBackfill(messages, backfill.text), null);
  putDefaults(chat, passthrough, profile);
  const echo = echoOf(request, {
    model,
    toolChoice: choice.echo,
    format: format.echo,
    withheld: given.withheld,
    strict: settings.strictEcho,
  });
  const wantsEncryptedReasoning = request.include.includes('reasoning.encrypted_content');
  const obfuscate = request.stream_options?.include_obfuscation ?? false;
  if (trace !== undefined) trace.result = { chat, passthrough, echo, wantsEncryptedReasoning, obfuscate };

  return {
    chat,
    passthrough: operation.passthrough(passthrough),
    context: {
      answer: operation.answer,
      stream,
      echo,
      toolNames: offered.length === 0 ? noNames : new Set(offered.map(nameOf)),
      restoredTools: restoredToolsOf(offered),
      foundTools: foundToolsOf(offered),
      integers: integerPlacesOf(offered),
      earlierCallIds: callIdsOf(input),
      allowedTools: choice.allowed,
      wantsEncryptedReasoning,
      wantsLogprobs: wanted.logprobs,
      obfuscate,
      reasoningEvents: settings.reasoningEvents,
      reasoningAlone: settings.reasoningAlone,
      profile,
      createdAt: Math.floor(clock.now()),
      now: () => Math.floor(clock.now()),
      newId: clock.newId,
    },
    dropped: dropped.names(),
    unknownTypes: dropped.unknownTypes(),
  };
}

/** Whether the profile’s server has a switch that clients of this profile set themselves. */
function hasThinking({ reasoningEffort }: Profile): boolean {
  return reasoningEffort === 'thinking_and_effort' || reasoningEffort === 'thinking_keep';
}

/** Whether the model has to call a tool. */
function isRequired(choice: ChatCompletionRequest['tool_choice']): boolean {
  if (typeof choice === 'object') return choice.type !== 'allowed_tools' || choice.allowed_tools.mode === 'required';
  return choice === 'required' || choice === 'any';
}

function isOff(thinking: unknown): boolean {
  return objectOf<{ readonly type?: unknown }>(thinking)?.type === 'disabled';
}

/** Text that no signed block takes back. */
function isText(reasoning: InputReasoning, settings: TranslationSettings): boolean {
  const { text, blocks } = earlierReasoningOf(reasoning, settings);
  return text !== '' && blocks.length === 0;
}

/** A developer message with that text; null for no text. */
function systemMessage(text: string | null | undefined): InputMessage | null {
  return text == null || text === '' ? null : { kind: 'message', role: 'developer', content: [{ type: 'text', text }] };
}

function streamOptions({ includeUsage, openaiOnly }: Profile): ChatCompletionRequest['stream_options'] {
  if (!includeUsage && !openaiOnly) return undefined;
  return {
    ...(includeUsage ? { include_usage: true } : {}),
    ...(openaiOnly ? { include_obfuscation: false } : {}),
  };
}

/** OpenAI refuses the field without tools, and some servers refuse it always. Only `false` differs from the default. */
function parallelToolCalls(
  { parallel_tool_calls: parallel }: CreateResponse,
  hasTools: boolean,
  profile: Profile,
  dropped: Dropped,
): boolean | undefined {
  if (parallel == null || !hasTools) return undefined;
  if (profile.parallelToolCalls) return parallel;
  if (!parallel) dropped.push('parallel_tool_calls');
  return undefined;
}

function putSampling(chat: ChatWriter, request: CreateResponse, { refusedFields }: Profile, dropped: Dropped): void {
  for (const name of ['temperature', 'top_p'] as const) {
    if (!refusedFields.includes(name)) chat.copy(name, name);
    else if (request[name] != null && request[name] !== 1) dropped.push(name);
  }
  // A refused field that gets this far is zero, its default.
  if (!refusedFields.includes('presence_penalty')) chat.copy('presence_penalty', 'presence_penalty');
  if (!refusedFields.includes('frequency_penalty')) chat.copy('frequency_penalty', 'frequency_penalty');
}

/** Fields that few servers know. Those that do not change the answer (a cache key, a user's id) are left out silently elsewhere. */
function putVendorFields(chat: ChatWriter, request: CreateResponse, profile: Profile, dropped: Dropped): void {
  const verbosity = request.text.verbosity;
  if (profile.verbosity) chat.put('verbosity', verbosity, 'text.verbosity');
  else if (verbosity != null && verbosity !== 'medium') dropped.push('text.verbosity');
  putServiceTier(chat, request.service_tier, profile, dropped);
  if (profile.user) chat.copy('user', 'user');
  if (profile.safetyIdentifier) chat.copy('safety_identifier', 'safety_identifier');
  if (profile.promptCacheKey) chat.copy('prompt_cache_key', 'prompt_cache_key');
  if (profile.openaiOnly) chat.copy('prompt_cache_retention', 'prompt_cache_retention');
  putCacheOptions(chat, request.prompt_cache_options, profile, dropped);
}

/** Of these options Chat has the mode, and the shorter lifetime. What is not sent is named, key by key, unless it is the default. */
function putCacheOptions(
  chat: ChatWriter,
  options: CreateResponse['prompt_cache_options'],
  { openaiOnly }: Profile,
  dropped: Dropped,
): void {
  if (options == null) return;
  const sent: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    const isChats = key === 'mode' || (key === 'ttl' && value !== '12h');
    // `prewarm: true` is a request of another kind.
    if (value === null || typeof value === 'boolean') continue;
    if (openaiOnly && isChats) sent[key] = value;
    else if (value !== 'implicit' && value !== '30m') dropped.push(`prompt_cache_options.${key}`);
  }
  if (Object.keys(sent).length > 0) chat.put('prompt_cache_options', sent, 'prompt_cache_options');
}

function putServiceTier(
  chat: ChatWriter,
  tier: CreateResponse['service_tier'],
  { serviceTiers }: Profile,
  dropped: Dropped,
): void {
  if (tier == null) return;
  if (Object.hasOwn(serviceTiers, tier)) chat.put('service_tier', serviceTiers[tier], 'service_tier');
  else if (tier !== 'auto' && tier !== 'default') dropped.push('service_tier');
}

/** The fields the server is always sent. The request's own values win, key by key. */
function putDefaults(chat: ChatWriter['chat'], passthrough: Map<string, unknown>, { defaults }: Profile): void {
  const written = chat as Record<string, unknown>; // a profile may name any field
  for (const [name, value] of Object.entries(defaults)) {
    if (passthrough.has(name)) continue;
    const given = written[name];
    if (given === undefined) passthrough.set(name, value);
    else if (objectOf(given) !== null && objectOf(value) !== null) written[name] = Object.assign({}, value, given);
  }
}

/** The tools called in the history, by name alone. They are not in the context: the answer may call none of them. */
function putStubTools(written: ChatWriter, { toolChoice }: Profile): void {
  const names = new Set<string>();
  for (const { tool_calls = [] } of written.chat.messages) {
    for (const call of tool_calls) names.add(call.type === 'custom' ? call.custom.name : call.function.name);
  }
  if (names.size === 0) return;
  const parameters = { type: 'object', properties: {} };
  const stubs = Array.from(names, (name) => ({ type: 'function' as const, function: { name, parameters } }));
  written.put('tools', stubs, null);
  if (toolChoice.sent) written.put('tool_choice', 'none', null);
}

const noNames: ReadonlySet<string> = new Set();

function callIdsOf(input: readonly InputItem[]): ReadonlySet<string> {
  const calls = input.filter((item) => item.kind === 'call');
  return calls.length === 0 ? noNames : new Set(calls.map(({ callId }) => callId));
}

const nothingRestored: ResponseContext['restoredTools'] = new Map();

/** The offered tools that the response must give back under another name or type. */
function restoredToolsOf(tools: readonly OfferedTool[]): ResponseContext['restoredTools'] {
  const others = tools.filter(
    ({ name, origin }) =>
      origin.kind !== 'function' || origin.name !== name || origin.namespace !== undefined || origin.async === true,
  );
  return others.length === 0 ? nothingRestored : new Map(others.map(({ name, origin }) => [name, origin]));
}

const nothingFound: ResponseContext['foundTools'] = new Map();

function foundToolsOf(tools: readonly OfferedTool[]): ResponseContext['foundTools'] {
  if (tools.every(({ found }) => found === null)) return nothingFound;
  return new Map(tools.flatMap(({ name, found }) => (found === null ? [] : [[name, found]])));
}

function chatOf(tool: OfferedTool): OfferedTool['chat'] {
  return tool.chat;
}

function nameOf(tool: OfferedTool): string {
  return tool.name;
}
