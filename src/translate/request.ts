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

  return {
    chat: withoutUndefined({
      model,
      messages,
      stream: stream ? true : undefined,
      stream_options: stream ? streamOptions(profile) : undefined,
      tools: choice.tools.length === 0 ? undefined : choice.tools.map(({ chat }) => chat),
      tool_choice: choice.chat,
      parallel_tool_calls: parallelToolCalls(fields, choice.tools.length > 0, profile, dropped),
      response_format: format.chat,
      [profile.maxTokensField]: fields.max_output_tokens ?? undefined,
      ...samplingFields(fields, wantsLogprobs, profile),
      ...vendorFields(fields, profile, dropped),
      ...translateEffort(fields.reasoning?.effort ?? null, model, profile, dropped),
      // Last, so that a server's own word for effort wins over the one made here. No other field can meet its like:
      // what is made here is a field of this API or was refused as one of the other's.
      ...Object.fromEntries(extras),
    }) as unknown as ChatCompletionRequest, // model and messages are set above
    context: {
      stream,
      echo: echoOf(fields, {
        model,
        tools: tools.echo,
        toolChoice: choice.echo,
        format: format.echo,
        strict: settings.strictEcho,
      }),
      toolNames: new Set(choice.tools.map(({ name }) => name)),
      restoredTools: new Map(
        choice.tools.flatMap(({ name, origin }) =>
          origin.kind === 'function' && origin.name === name ? [] : [[name, origin] as const],
        ),
      ),
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

function samplingFields(fields: CreateResponseFields, wantsLogprobs: boolean, profile: Profile): object {
  const has = (name: (typeof profile.refusedFields)[number]) => !profile.refusedFields.includes(name);
  return {
    temperature: fields.temperature ?? undefined,
    top_p: fields.top_p ?? undefined,
    // A refused field that got this far is zero, and says nothing.
    presence_penalty: has('presence_penalty') ? (fields.presence_penalty ?? undefined) : undefined,
    frequency_penalty: has('frequency_penalty') ? (fields.frequency_penalty ?? undefined) : undefined,
    logprobs: wantsLogprobs ? true : undefined,
    top_logprobs: fields.top_logprobs || undefined,
  };
}

/** Fields that few servers know. What only helps them (a cache key, a user's name) goes without a word where they do not. */
function vendorFields(fields: CreateResponseFields, profile: Profile, dropped: string[]): object {
  const { verbosity } = fields.text ?? {};
  if (verbosity != null && verbosity !== 'medium' && !profile.verbosity) dropped.push('text.verbosity');
  const tier = fields.service_tier ?? undefined;
  const chatTier =
    tier !== undefined && Object.hasOwn(profile.serviceTiers, tier) ? profile.serviceTiers[tier] : undefined;
  if (tier !== undefined && chatTier === undefined && !['auto', 'default'].includes(tier)) dropped.push('service_tier');
  return {
    verbosity: profile.verbosity ? (verbosity ?? undefined) : undefined,
    service_tier: chatTier,
    user: profile.user ? (fields.user ?? undefined) : undefined,
    safety_identifier: profile.safetyIdentifier ? (fields.safety_identifier ?? undefined) : undefined,
    prompt_cache_key: profile.promptCacheKey ? (fields.prompt_cache_key ?? undefined) : undefined,
    prompt_cache_retention: profile.promptCacheOptions ? (fields.prompt_cache_retention ?? undefined) : undefined,
    prompt_cache_options: profile.promptCacheOptions ? (fields.prompt_cache_options ?? undefined) : undefined,
  };
}

function withoutUndefined(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
