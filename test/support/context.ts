import { compact } from '../../src/filter/translate/operations/compaction.ts';
import { inputTokens } from '../../src/filter/translate/operations/input-tokens.ts';
import {
  compactionTrigger,
  notPrewarmed,
  prewarmed,
  responses,
} from '../../src/filter/translate/operations/responses.ts';
import type { NewId, ResponseContext, RestoredTool } from '../../src/filter/translate/shared/context.ts';
import type { ReasoningCarrier } from '../../src/filter/translate/shared/settings.ts';
import type { Profile } from '../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import type { CreateResponseEcho, ResponseResource, ToolEcho } from '../../src/filter/wire/schema/response-resource.ts';

/** When the requests of the tests are read, and when their answers are complete. Unix seconds. */
export const createdAt = 1_800_000_000;
export const completedAt = createdAt + 2;

/** Operations that an answer may belong to, by their names in the cases. */
export const kinds = {
  response: responses,
  compaction: compactionTrigger,
  prewarm: prewarmed,
  empty: notPrewarmed,
  compact_endpoint: compact,
  input_tokens: inputTokens,
};

/** What a case may set in its context, as JSON; the rest is that of `{"model": "test-model", "input": "Hi"}`. */
export interface ContextSettings {
  readonly profile?: string;
  /** Flags of the profile that differ from its row. */
  readonly profileFlags?: Partial<Profile>;
  readonly kind?: keyof typeof kinds;
  readonly stream?: boolean;
  readonly reasoningEvents?: ReasoningCarrier;
  readonly reasoningAlone?: 'completed' | 'failed';
  readonly wantsEncryptedReasoning?: boolean;
  readonly wantsLogprobs?: boolean;
  readonly obfuscate?: boolean;
  readonly toolNames?: readonly string[];
  readonly restoredTools?: Readonly<Record<string, RestoredTool>>;
  readonly foundTools?: Readonly<Record<string, ToolEcho>>;
  readonly allowedTools?: readonly string[];
  readonly requiresCall?: boolean;
  readonly echo?: Partial<CreateResponseEcho>;
}

/** The fields of the resource that repeat a request of a model and an input alone. */
export const minimalEcho: CreateResponseEcho = {
  model: 'test-model',
  instructions: null,
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  truncation: 'disabled',
  text: { format: { type: 'text' } },
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  reasoning: { effort: null, summary: null },
  max_output_tokens: null,
  max_tool_calls: null,
  service_tier: 'default',
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
};

/** The context of an answer whose ids are counted (`msg_1`, `msg_2`) and whose clock is fixed. */
export function createTestContext(settings: ContextSettings = {}): ResponseContext {
  const profile = builtInProfiles.get(settings.profile ?? 'generic')?.profile;
  if (profile === undefined) throw new Error(`no profile is called ${settings.profile}`);
  const restoredTools = new Map(Object.entries(settings.restoredTools ?? {}));
  return {
    answer: kinds[settings.kind ?? 'response'].answer,
    stream: settings.stream ?? false,
    echo: { ...minimalEcho, ...settings.echo },
    toolNames: new Set([...(settings.toolNames ?? []), ...restoredTools.keys()]),
    restoredTools,
    foundTools: new Map(Object.entries(settings.foundTools ?? {})),
    earlierCallIds: new Set(),
    allowedTools: settings.allowedTools === undefined ? null : new Set(settings.allowedTools),
    requiresCall: settings.requiresCall ?? false,
    wantsEncryptedReasoning: settings.wantsEncryptedReasoning ?? false,
    wantsLogprobs: settings.wantsLogprobs ?? false,
    obfuscate: settings.obfuscate ?? false,
    reasoningEvents: settings.reasoningEvents ?? 'summary',
    reasoningAlone: settings.reasoningAlone ?? 'completed',
    profile: { ...profile, ...settings.profileFlags },
    createdAt,
    now: () => completedAt,
    newId: createCountedIds(),
  };
}

/** Ids in order of minting, counted by prefix. */
export function createCountedIds(): NewId {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return `${prefix}_${count}`;
  };
}

/** A completed Response without output: all 31 fields, and what the request made of them. */
export function emptyResponse(echo: ResponseContext['echo']): ResponseResource {
  return {
    ...echo,
    id: 'resp_1',
    object: 'response',
    created_at: createdAt,
    completed_at: completedAt,
    status: 'completed',
    error: null,
    incomplete_details: null,
    previous_response_id: null,
    output: [],
    usage: null,
    store: false,
    background: false,
  };
}
