import type { ApiErrorObject } from './api-error.ts';

/** The Response resource and its items, as written to clients: Open Responses 2026-04-24, and OpenAI's extra items. */

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

export interface UrlCitation {
  readonly type: 'url_citation';
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

/** A file that a search of the server's found. */
export interface FileCitation {
  readonly type: 'file_citation';
  readonly file_id: string;
  readonly filename: string;
  readonly index: number;
}

/** A file that code on the server wrote. */
export interface ContainerFileCitation {
  readonly type: 'container_file_citation';
  readonly container_id: string;
  readonly file_id: string;
  readonly filename: string;
  readonly start_index: number;
  readonly end_index: number;
}

export type Annotation = UrlCitation | FileCitation | ContainerFileCitation;

export interface TopLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface Logprob extends TopLogprob {
  readonly top_logprobs: readonly TopLogprob[];
}

export interface OutputTextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly Annotation[];
  readonly logprobs: readonly Logprob[] | KeptJson;
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

/** A part of the upstream's own, as it came. */
export interface ExtensionPart {
  readonly type: `${string}:${string}`;
}

interface TextOfType<Type> {
  readonly type: Type;
  readonly text: string;
}
export type ReasoningTextPart = TextOfType<'reasoning_text'>;
export type SummaryTextPart = TextOfType<'summary_text'>;

interface Item<Type, Status = ItemStatus> {
  readonly id: string;
  readonly type: Type;
  readonly status: Status;
}

export interface MessageItem extends Item<'message'> {
  readonly role: 'assistant';
  readonly content: readonly (OutputTextPart | RefusalPart | ExtensionPart)[];
  /** Text before tool calls, or the answer. Absent where that is not known, or no tools were offered. */
  readonly phase?: 'commentary' | 'final_answer';
}

export interface ReasoningItem extends Item<'reasoning'> {
  readonly summary: readonly SummaryTextPart[];
  readonly content?: readonly ReasoningTextPart[];
  readonly encrypted_content?: string;
}

interface NamedCallItem<Type> extends Item<Type> {
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  /** The tool's output may come later. */
  readonly async?: true;
}

export interface FunctionCallItem extends NamedCallItem<'function_call'> {
  readonly arguments: string;
}

export interface CustomToolCallItem extends NamedCallItem<'custom_tool_call'> {
  readonly input: string;
}

/** Tools with a type of their own that the client runs (openai-node 7.59, openai-agents-python#2966). */
export type ClientToolType = 'tool_search' | 'shell' | 'local_shell' | 'apply_patch';

/** A call of such a tool. Its further fields are with its tool, in `translate/client-tools/`. */
export interface ClientToolCallItem extends Item<`${ClientToolType}_call`> {
  /** Null for a search that this service answered. */
  readonly call_id: string | null;
}

export interface ToolSearchOutputItem extends Item<'tool_search_output'> {
  readonly call_id: string | null;
  readonly execution: 'server';
  readonly tools: readonly ToolEcho[];
}

export interface ImageGenerationCallItem extends Item<'image_generation_call', 'in_progress' | 'completed'> {
  /** Base64; null until the picture is there. */
  readonly result: string | null;
  readonly output_format?: 'png' | 'jpeg' | 'webp' | 'gif';
}

/** A conversation's summary, in place of the conversation. */
export interface CompactionItem {
  readonly id: string;
  readonly type: 'compaction';
  readonly encrypted_content: string;
}

export type OutputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomToolCallItem
  | ClientToolCallItem
  | ToolSearchOutputItem
  | ImageGenerationCallItem
  | CompactionItem;

export interface Usage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

export interface FunctionToolEcho {
  readonly type: 'function';
  readonly name: string;
  readonly description: string | null;
  readonly parameters: unknown;
  readonly strict: boolean;
  readonly async?: true;
}

/** A tool that is not a function (custom, namespace, tool_search) is repeated as the client sent it. */
export type ToolEcho = FunctionToolEcho | { readonly type: string; readonly [key: string]: unknown };

/** A large value that is kept as the bytes of its JSON until it is written. */
export interface KeptJson {
  readonly bytes: Uint8Array;
  toJSON(): unknown;
}

/** The fields of the resource that only repeat the request: they are fixed once the request is read. */
export interface CreateResponseEcho {
  /** The model that the client asked for, until the upstream's answer names its model. */
  readonly model: string;
  readonly instructions: string | null | KeptJson;
  readonly tools: readonly ToolEcho[] | KeptJson;
  readonly tool_choice: unknown;
  readonly parallel_tool_calls: boolean;
  readonly truncation: 'auto' | 'disabled';
  readonly text: { readonly format: unknown; readonly verbosity?: string } | KeptJson;
  readonly temperature: number;
  readonly top_p: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  readonly top_logprobs: number;
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null; readonly context?: string };
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number | null;
  /** The upstream's own tier replaces it. */
  readonly service_tier: string;
  readonly metadata: Readonly<Record<string, string>> | KeptJson;
  readonly safety_identifier: string | null;
  readonly prompt_cache_key: string | null;
  /** OpenAI's own extras are present only when the request gave them. */
  readonly user?: string;
  readonly prompt_cache_retention?: string;
  readonly prompt_cache_options?: Readonly<Record<string, unknown>>;
  readonly input_transformations?: readonly InputTransformation[];
}

/** Reasoning of the input that was left out: it is older than the user's last message, or another server encrypted it. */
export interface InputTransformation {
  readonly id: string;
  readonly type: 'reasoning';
  readonly action: 'removed';
  readonly reason: 'turn_boundary' | 'model_mismatch';
}

/** Headers of an error inside a 200: `retry-after`, which Codex reads there. */
export interface WithHeaders {
  readonly headers?: Readonly<Record<string, string>>;
}

/** All 31 fields are always present; nullable ones as null, arrays never null. */
export interface ResponseResource extends CreateResponseEcho {
  readonly id: string;
  readonly object: 'response';
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly status: ResponseStatus;
  /** The published schema has code and message, and is open. */
  readonly error: (Pick<ApiErrorObject, 'type' | 'code' | 'message'> & WithHeaders) | null;
  readonly incomplete_details: { readonly reason: 'max_output_tokens' | 'content_filter' } | null;
  readonly previous_response_id: null;
  readonly output: readonly OutputItem[];
  readonly usage: Usage | null;
  readonly store: false;
  readonly background: false;
}

/** The answer of `POST /v1/responses/compact`. */
export interface CompactionResource extends Pick<ResponseResource, 'id' | 'created_at' | 'output'> {
  readonly object: 'response.compaction';
  readonly usage: Usage;
}

/** The `error` event's payload: the specification's nested form and OpenAI's flat one at once (choice D3). */
export type ErrorEventFields = { readonly error: ApiErrorObject & WithHeaders } & Pick<
  ApiErrorObject,
  'code' | 'message' | 'param'
>;
