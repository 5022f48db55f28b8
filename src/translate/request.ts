import type { ChatCompletionRequest } from '../schema/chat-request.ts';
import type { CreateResponseFields } from '../schema/create-response.ts';
import type { Profile } from '../upstream/profile.ts';
import type { NewId, ResponseContext } from './context.ts';
import { echoOf } from './request/echo.ts';
import { translateEffort } from './request/effort.ts';
import { readFields } from './request/fields.ts';
import type { MessageItem } from './request/items.ts';
import { translateMessages } from './request/messages.ts';
import { pairCalls } from './request/pairing.ts';
import { invalidValue, missingParameter } from './request/shape.ts';
import { translateToolChoice } from './request/tool-choice.ts';
import type { OfferedTool } from './request/tools.ts';
import type { TranslationSettings } from './settings.ts';

export interface TranslatedRequest {
  /** The body for the upstream. */
  readonly chat: ChatCompletionRequest;
  /** What the answer's translation needs. */
  readonly context: ResponseContext;
  /** What a setting or the profile left out, each as `path` or `path.type`: for the header, the log and the counter. */
  readonly dropped: readonly string[];
}

/**
 * A parsed `CreateResponse` body as a Chat Completions request. Throws `ApiError` for the first mistake; nothing may
 * reach the upstream then. `clock.now` gives Unix seconds.
 */
export function translateRequest(
  body: unknown,
  settings: TranslationSettings,
  clock: { readonly now: () => number; readonly newId: NewId },
): TranslatedRequest {
  const { profile } = settings;
  const dropped: string[] = [];
  const { fields, input, tools, format, extras } = readFields(body, settings, dropped);
  const model = fields.model || settings.defaultModel;
  if (model === null || model === '') throw missingParameter('model');
  if (input === null) throw missingParameter('input', 'Send a string, or an array of items.');
  if (fields.store == null && settings.omittedStore === 'reject') {
    throw missingParameter('store', 'Nothing is stored here: send "store": false.');
  }
  const choice = translateToolChoice(fields.tool_choice, tools, settings, dropped);
  const messages = translateMessages(
    pairCalls(input.items, settings),
    [systemMessage(fields.instructions), systemMessage(format.system)].filter((message) => message !== null),
    profile,
    tools,
  );
  if (messages.length === 0) {
    throw invalidValue('input', `'input' holds nothing that could be answered. Send a message.`);
  }
  const stream = fields.stream ?? false;
  const wantsLogprobs =
    (fields.top_logprobs ?? 0) > 0 || (fields.include ?? []).includes('message.output_text.logprobs');

  const chat: ChatFields = { model, messages };
  if (stream) {
    put(chat, 'stream', true);
    put(chat, 'stream_options', streamOptions(profile));
  }
  if (choice.tools.length > 0) put(chat, 'tools', choice.tools.map(chatOf));
  put(chat, 'tool_choice', choice.chat);
  put(chat, 'parallel_tool_calls', parallelToolCalls(fields, choice.tools.length > 0, profile, dropped));
  put(chat, 'response_format', format.chat);
  put(chat, profile.maxTokensField, fields.max_output_tokens);
  putSampling(chat, fields, wantsLogprobs, profile);
  putVendorFields(chat, fields, profile, dropped);
  const effort = fields.reasoning?.effort;
  if (effort != null) Object.assign(chat, translateEffort(effort, model, profile, dropped));

  return {
    // Last, so that a server's own word for effort wins over the one made here. No other field can meet its like:
    // what is made here is a field of this API or was refused as one of the other's.
    chat: extras.size === 0 ? chat : { ...chat, ...Object.fromEntries(extras) },
    context: {
      stream,
      echo: echoOf(fields, {
        model,
        tools: tools.echo,
        toolChoice: choice.echo,
        format: format.echo,
        strict: settings.strictEcho,
      }),
      toolNames: choice.tools.length === 0 ? noNames : new Set(choice.tools.map(nameOf)),
      restoredTools: restoredToolsOf(choice.tools),
      allowedTools: choice.allowed,
      wantsEncryptedReasoning: (fields.include ?? []).includes('reasoning.encrypted_content'),
      wantsLogprobs,
      obfuscate: fields.stream_options?.include_obfuscation ?? false,
      reasoningEvents: settings.reasoningEvents,
      profile,
      createdAt: Math.floor(clock.now()),
      now: () => Math.floor(clock.now()),
      newId: clock.newId,
    },
    dropped,
  };
}

/** The upstream's body while it is made. */
type ChatFields = Pick<ChatCompletionRequest, 'model' | 'messages'> & { [field: string]: unknown };

/** What is null or undefined says nothing, and is left out. */
function put(chat: ChatFields, name: string, value: unknown): void {
  if (value != null) chat[name] = value;
}

/** Developer text of ours or of `instructions`; null for nothing to say. */
function systemMessage(text: string | null | undefined): MessageItem | null {
  return text == null || text === '' ? null : { kind: 'message', role: 'developer', content: [{ type: 'text', text }] };
}

function streamOptions({ includeUsage, obfuscationOff }: Profile): unknown {
  if (!includeUsage && !obfuscationOff) return undefined;
  return {
    ...(includeUsage ? { include_usage: true } : {}),
    ...(obfuscationOff ? { include_obfuscation: false } : {}),
  };
}

/** Refused by OpenAI without tools, and by some servers at all. Only `false` says anything. */
function parallelToolCalls(
  { parallel_tool_calls: parallel }: CreateResponseFields,
  hasTools: boolean,
  profile: Profile,
  dropped: string[],
): boolean | undefined {
  if (parallel == null || !hasTools) return undefined;
  if (profile.parallelToolCalls) return parallel;
  if (!parallel) dropped.push('parallel_tool_calls');
  return undefined;
}

function putSampling(
  chat: ChatFields,
  fields: CreateResponseFields,
  wantsLogprobs: boolean,
  { refusedFields }: Profile,
): void {
  put(chat, 'temperature', fields.temperature);
  put(chat, 'top_p', fields.top_p);
  // A refused field that got this far is zero, and says nothing.
  if (!refusedFields.includes('presence_penalty')) put(chat, 'presence_penalty', fields.presence_penalty);
  if (!refusedFields.includes('frequency_penalty')) put(chat, 'frequency_penalty', fields.frequency_penalty);
  if (wantsLogprobs) put(chat, 'logprobs', true);
  put(chat, 'top_logprobs', fields.top_logprobs || null);
}

/** Fields that few servers know. What only helps them (a cache key, a user's name) goes without a word where they do not. */
function putVendorFields(chat: ChatFields, fields: CreateResponseFields, profile: Profile, dropped: string[]): void {
  const verbosity = fields.text?.verbosity;
  if (profile.verbosity) put(chat, 'verbosity', verbosity);
  else if (verbosity != null && verbosity !== 'medium') dropped.push('text.verbosity');
  putServiceTier(chat, fields.service_tier, profile, dropped);
  if (profile.user) put(chat, 'user', fields.user);
  if (profile.safetyIdentifier) put(chat, 'safety_identifier', fields.safety_identifier);
  if (profile.promptCacheKey) put(chat, 'prompt_cache_key', fields.prompt_cache_key);
  if (!profile.promptCacheOptions) return;
  put(chat, 'prompt_cache_retention', fields.prompt_cache_retention);
  put(chat, 'prompt_cache_options', fields.prompt_cache_options);
}

function putServiceTier(
  chat: ChatFields,
  tier: CreateResponseFields['service_tier'],
  { serviceTiers }: Profile,
  dropped: string[],
): void {
  if (tier == null) return;
  if (Object.hasOwn(serviceTiers, tier)) put(chat, 'service_tier', serviceTiers[tier]);
  else if (tier !== 'auto' && tier !== 'default') dropped.push('service_tier');
}

const noNames: ReadonlySet<string> = new Set();
const nothingRestored: ResponseContext['restoredTools'] = new Map();

/** The offered tools whose Chat name does not simply stand for itself. */
function restoredToolsOf(tools: readonly OfferedTool[]): ResponseContext['restoredTools'] {
  const others = tools.filter(({ name, origin }) => origin.kind !== 'function' || origin.name !== name);
  return others.length === 0 ? nothingRestored : new Map(others.map(({ name, origin }) => [name, origin]));
}

function chatOf(tool: OfferedTool): OfferedTool['chat'] {
  return tool.chat;
}

function nameOf(tool: OfferedTool): string {
  return tool.name;
}
