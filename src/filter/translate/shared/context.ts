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

/** Mints an id that is unique for all practical purposes: `newId('msg')` gives `msg_…`. */
export type NewId = (prefix: string) => string;

/** Time and ids, which the filter is given. `now` is in Unix seconds. */
export interface Clock {
  now(): number;
  readonly newId: NewId;
}

/** The tool that a Chat function name stands for on the Responses side, where it is not a function of that name. */
export type RestoredTool =
  | { readonly kind: 'function'; readonly name: string; readonly namespace?: string; readonly async?: true }
  | { readonly kind: 'custom'; readonly name: string; readonly namespace?: string; readonly async?: true }
  | { readonly kind: ClientToolType };

/** How the upstream's answer is read, and what the client gets. */
export interface AnswerForm {
  /** The upstream may answer with a stream of events. */
  readonly streams: boolean;
  /** False: there is nothing to ask, and the Response is complete at once. */
  readonly asksUpstream: boolean;
  /** Makes other items of all the output, or none; null where the client gets each as it comes. */
  readonly fold: Fold | null;
  /** Reads an answer in JSON that came in so many bytes. Throws `ApiError` if it is not one. */
  readJson(value: unknown, context: ResponseContext, bytes: number): JsonAnswer;
  /** The client's JSON for a Response. */
  bodyOf(response: ResponseResource): object;
}

/** The items that an answer's output becomes, or why it becomes none. */
export type Fold = (output: readonly OutputItem[], answer: FinishedAnswer) => readonly OutputItem[] | ApiError;

/** How a response ends. A failure's HTTP status counts only before the headers are committed. */
export type Outcome =
  | { readonly status: 'completed'; readonly hasCalled: boolean }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: ApiError };

export interface FinishedAnswer {
  readonly outcome: Outcome;
  /** The upstream's name for the model, or null. */
  readonly model: string | null;
  readonly newId: NewId;
}

export interface JsonAnswer {
  readonly body: object;
  /** For a client that asked for a stream. */
  readonly events: readonly ResponseStreamEvent[];
  readonly report: AnswerReport;
}

export interface AnswerReport {
  readonly error: ApiError | null;
  readonly status: ResponseStatus;
  readonly model: string | null;
  readonly usage: Usage | null;
  /** Tokens of the output, estimated: what stands in where there is no usage. */
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
  /** Bytes of the Chat request, where it is large: an answer may repeat tools of it. */
  readonly requestBytes?: number;
  /** The fields of the Response resource that repeat the request. */
  readonly echo: CreateResponseEcho;
  /** Every function name offered to the upstream. */
  readonly toolNames: ReadonlySet<string>;
  /** Offered names that must be returned as something else: custom tools, namespaces, shortened names. */
  readonly restoredTools: ReadonlyMap<string, RestoredTool>;
  /** Offered names of deferred tools, each as a search would give it: what a client has to see before a call of it. */
  readonly foundTools: ReadonlyMap<string, ToolEcho>;
  /** The ids of the conversation's calls. */
  readonly earlierCallIds: ReadonlySet<string>;
  /** The names the model may call, by `tool_choice`: one, none or `allowed_tools`; null if it does not restrict them. */
  readonly allowedTools: ReadonlySet<string> | null;
  /** The upstream was told that the answer must call a tool. */
  readonly requiresCall: boolean;
  readonly wantsEncryptedReasoning: boolean;
  readonly wantsLogprobs: boolean;
  /** Pads delta events (`stream_options.include_obfuscation: true`). */
  readonly obfuscate: boolean;
  readonly reasoningEvents: ReasoningCarrier;
  readonly reasoningAlone: 'completed' | 'failed';
  readonly profile: Profile;
  /** Unix seconds at which the request was read. */
  readonly createdAt: number;
  /** Unix seconds now: for `completed_at`. */
  readonly now: () => number;
  readonly newId: NewId;
}

/** Kinds of faults that are repaired in an upstream's answer, so that clients can use it, or left out of it, for the metric and the log. */
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
