import type { Profile } from '../../upstream/profile.ts';
import type { ApiError } from '../../wire/schema/api-error.ts';
import type {
  ClientToolType,
  CreateResponseEcho,
  OutputItem,
  ResponseResource,
  ResponseStatus,
  ToolEcho,
  Usage,
} from '../../wire/schema/response-resource.ts';
import type { ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import type { UnknownType } from './dropped.ts';
import type { ReasoningCarrier } from './settings.ts';

/** Makes an id that is unique for all practical purposes: `newId('msg')` gives `msg_…`. */
export type NewId = (prefix: string) => string;

/** Time and ids, which the filter is given. `now` is in Unix seconds. */
export interface Clock {
  now(): number;
  readonly newId: NewId;
}

/** The tool for which a Chat function stands, where it is not a function of that name. */
export type RestoredTool =
  | { readonly kind: 'function'; readonly name: string; readonly namespace?: string; readonly async?: true }
  | { readonly kind: 'custom'; readonly name: string; readonly namespace?: string; readonly async?: true }
  | { readonly kind: ClientToolType };

/** How the upstream's answer is read, and what the client gets. */
export interface AnswerForm {
  readonly streams: boolean;
  /** False: the Response is complete at once, and nothing is asked. */
  readonly asksUpstream: boolean;
  /** Makes other items, or none, of all the output; null where the client gets each item as it comes. */
  readonly fold: Fold | null;
  /** Reads an answer in JSON of so many bytes. Throws `ApiError` for what is not an answer. */
  readJson(value: unknown, context: ResponseContext, bytes: number): JsonAnswer;
  writeBody(response: ResponseResource): object;
}

/** The items that an answer's output becomes, or why it becomes none. */
export type Fold = (output: readonly OutputItem[], answer: FinishedAnswer) => readonly OutputItem[] | ApiError;

/** How a response ends. The HTTP status of a failure counts only before the headers are committed. */
export type Outcome =
  | { readonly status: 'completed'; readonly hasCalled: boolean }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: ApiError };

export interface FinishedAnswer {
  readonly outcome: Outcome;
  readonly model: string | null;
  readonly newId: NewId;
}

export interface JsonAnswer {
  readonly body: object;
  /** The same answer for a client that asked for a stream. */
  readonly events: readonly ResponseStreamEvent[];
  readonly report: AnswerReport;
}

export interface AnswerReport {
  readonly error: ApiError | null;
  readonly status: ResponseStatus;
  readonly model: string | null;
  readonly usage: Usage | null;
  /** Estimated tokens of the output, for an answer without usage. */
  readonly outputTokens: number;
  readonly finishReason: string | null;
  /** Events and fields of the answer that nothing here reads. */
  readonly unread: readonly UnknownType[];
  readonly repairs: readonly Repair[];
}

export const nothingReported = {
  error: null,
  model: null,
  usage: null,
  outputTokens: 0,
  finishReason: null,
  unread: [],
  repairs: [],
} as const satisfies Partial<AnswerReport>;

/** The facts of a request that the translation of its answer needs: nothing of the input but the ids of its calls. */
export interface ResponseContext {
  readonly answer: AnswerForm;
  readonly stream: boolean;
  /** Bytes of the Chat request, if it is large: an answer may repeat tools of it. */
  readonly requestBytes?: number;
  readonly echo: CreateResponseEcho;
  readonly toolNames: ReadonlySet<string>;
  /** Offered names that must be returned as something else: custom tools, namespaces, shortened names. */
  readonly restoredTools: ReadonlyMap<string, RestoredTool>;
  /** Deferred tools by their offered names, each as a search would give it. A client has to see the tool before a call of it. */
  readonly foundTools: ReadonlyMap<string, ToolEcho>;
  readonly earlierCallIds: ReadonlySet<string>;
  /** The names that the model may call; null if `tool_choice` does not restrict them. */
  readonly allowedTools: ReadonlySet<string> | null;
  readonly requiresCall: boolean;
  readonly wantsEncryptedReasoning: boolean;
  readonly wantsLogprobs: boolean;
  /** Delta events are padded (`stream_options.include_obfuscation: true`). */
  readonly obfuscate: boolean;
  readonly reasoningEvents: ReasoningCarrier;
  readonly reasoningAlone: 'completed' | 'failed';
  readonly profile: Profile;
  /** Unix seconds at which the request was read. */
  readonly createdAt: number;
  /** Unix seconds now, for `completed_at`. */
  readonly now: () => number;
  readonly newId: NewId;
}

/** Faults that are repaired in an upstream's answer, or left out of it, so that clients can use it: for the metric and the log. */
export const repairKinds = [
  'skipped_data', // data in a stream that was not JSON
  'repeated_call', // a tool call that came twice
  'arguments', // arguments that are `null`, a text of the object, or have something behind it
  'whole_number', // `120000.0` in arguments, written as `120000`
  'usage', // counts of tokens that contradict each other
  'service_tier', // a tier for which the API has no word
  'tool_choice_ignored', // text where the request required a call: the server ignores the word
  'parallel_tool_calls_ignored', // several calls where the request allowed one: the server ignores the field
  'reasoning_alone', // an answer of reasoning and nothing else that ended normally: agents stop at it without a word
] as const;
export type Repair = (typeof repairKinds)[number];
