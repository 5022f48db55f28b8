/** The Chat Completions request, as written to upstreams. Keys that would be null or empty are left out. */

export interface ChatTextPart {
  readonly type: 'text';
  readonly text: string;
}

/** Parts beside text keep their vendor's shape; the translation that writes them names the source. */
export type ChatContentPart = ChatTextPart | { readonly type: string; readonly [key: string]: unknown };

export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function' | 'custom';
  readonly function?: { readonly name: string; readonly arguments: string };
  readonly custom?: { readonly name: string; readonly input: string };
  readonly extra_content?: unknown;
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | null | readonly ChatContentPart[];
  readonly refusal?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly extra_content?: unknown;
  readonly prefix?: boolean;
}

export interface ChatCompletionRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly [key: string]: unknown;
}
