import type { CreateResponseEcho } from '../schema/response-resource.ts';
import type { Profile } from '../upstream/profile.ts';
import type { ClientToolType } from './client-tools.ts';
import type { ReasoningCarrier } from './settings.ts';

/** Mints an id that is unique for all practical purposes: `newId('msg')` gives `msg_…`. */
export type NewId = (
  prefix: 'resp' | 'msg' | 'fc' | 'rs' | 'ctc' | 'tsc' | 'sh' | 'lsh' | 'apc' | 'cmp' | 'call',
) => string;

/** What a Chat function name stands for on the Responses side, where it is not simply itself. */
export type RestoredTool =
  | { readonly kind: 'function'; readonly name: string; readonly namespace?: string }
  | { readonly kind: 'custom'; readonly name: string; readonly namespace?: string }
  | { readonly kind: 'tool_search' }
  | { readonly kind: ClientToolType };

/**
 * What the answer becomes: a Response; a Response whose output is one `compaction` item; or, of the same, the resource that
 * `POST /v1/responses/compact` gives; or a number of tokens.
 */
export type AnswerKind = 'response' | 'compaction' | 'compact_endpoint' | 'input_tokens';

/** The endpoint of a request: an answer is wanted, a summary of the conversation, or the number of its tokens. */
export type Endpoint = 'responses' | 'compact' | 'input_tokens';

/** What the answer's translation needs of its request. Nothing here refers to the input itself. */
export interface ResponseContext {
  readonly kind: AnswerKind;
  readonly stream: boolean;
  /** The fields of the Response resource that repeat the request. */
  readonly echo: CreateResponseEcho;
  /** Every function name offered to the upstream. */
  readonly toolNames: ReadonlySet<string>;
  /** Offered names that must be given back as something else: custom tools, namespaces, shortened names. */
  readonly restoredTools: ReadonlyMap<string, RestoredTool>;
  /** The names the model may call, by `tool_choice`: one, none or `allowed_tools`; null when it sets no bound. */
  readonly allowedTools: ReadonlySet<string> | null;
  readonly wantsEncryptedReasoning: boolean;
  readonly wantsLogprobs: boolean;
  /** Pads delta events (`stream_options.include_obfuscation: true`). */
  readonly obfuscate: boolean;
  readonly reasoningEvents: ReasoningCarrier;
  readonly profile: Profile;
  /** Unix seconds at which the request was read. */
  readonly createdAt: number;
  /** Unix seconds now: for `completed_at`. */
  readonly now: () => number;
  readonly newId: NewId;
}
