/**
 * The Chat Completions request, as written to upstreams: every field that is ever sent, so that a misspelt or invented
 * field does not compile. Fields that would be null or empty are left out. What clients pass on to the upstream by its own names is added
 * by `chatRequestBody`.
 */
export interface ChatCompletionRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean; readonly include_obfuscation?: boolean };
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly tool_stream?: boolean; // GLM: streams the arguments of calls
  readonly response_format?: ChatResponseFormat;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly verbosity?: string;
  readonly service_tier?: string;
  readonly moderation?: unknown;
  readonly guardrails?: unknown; // LiteLLM, NeMo Guardrails
  readonly user?: string;
  readonly safety_identifier?: string;
  readonly prompt_cache_key?: string;
  readonly prompt_cache_retention?: string;
  readonly prompt_cache_options?: JsonObject;
  readonly reasoning_effort?: string;
  readonly reasoning?: { readonly enabled: false } | { readonly effort: string; readonly exclude: boolean }; // OpenRouter
  readonly thinking?: { readonly type: 'enabled' | 'disabled'; readonly keep?: 'all' }; // DeepSeek and Moonshot
  readonly enable_thinking?: boolean; // DashScope
}

/** A client's own object that is written as it came. */
type JsonObject = Readonly<Record<string, unknown>>;

/** Keys of the server's own, `acme:hint`, as the client wrote them. */
export type ExtensionKeys = { readonly [name: `${string}:${string}`]: unknown };

export interface ChatMessage extends OpaqueFields, ExtensionKeys {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | null | readonly (ChatContentPart | ChatThinkingPart)[];
  readonly refusal?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly name?: string; // Mistral's tool messages: the function's name
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly unknown[]; // OpenRouter: opaque data, given back as it came
  readonly thinking_blocks?: readonly unknown[]; // LiteLLM: Anthropic's signed blocks, given back as they came
  readonly prefix?: boolean; // Mistral: the answer continues this message
}

/** Data that a server needs back with a message or a tool call, in the field in which it came. */
export interface OpaqueFields {
  readonly extra_content?: ExtraContent;
  readonly provider_specific_fields?: JsonObject; // LiteLLM: Gemini's thought signature, say
  /** Gemini's thought signature beside the function, as gateways before Gemini write it. */
  readonly thoughtSignature?: string;
  readonly thought_signature?: string;
}

/** The `extra_content` by vendor. */
export interface ExtraContent extends JsonObject {
  readonly google?: unknown;
}

/** A client's prompt cache options: OpenAI's breakpoint, and Anthropic's, which routers know too. */
export interface CacheHints {
  readonly prompt_cache_breakpoint?: unknown;
  readonly cache_control?: unknown;
}

export type ChatContentPart = ExtensionKeys &
  (
    | ({ readonly type: 'text'; readonly text: string } & CacheHints)
    | ({
        readonly type: 'image_url';
        readonly image_url: { readonly url: string; readonly detail?: 'low' | 'high' | 'original' };
      } & CacheHints)
    | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } }
    | { readonly type: 'video_url'; readonly video_url: { readonly url: string } }
    | { readonly type: 'file'; readonly file: ChatFile }
    | { readonly type: 'document_url'; readonly document_url: string } // Mistral
    | ChatExtensionPart
  );

/** A part of the server's own, as the client wrote it. */
export interface ChatExtensionPart {
  readonly type: `${string}:${string}`;
}

type ChatFile = { readonly filename: string; readonly file_data: string } | { readonly file_id: string };

/** Mistral: reasoning given back in an assistant message. */
export interface ChatThinkingPart {
  readonly type: 'thinking';
  readonly thinking: readonly { readonly type: 'text'; readonly text: string }[];
}

export type ChatToolCall = { readonly id: string } & OpaqueFields &
  (
    | { readonly type: 'function'; readonly function: { readonly name: string; readonly arguments: string } }
    | { readonly type: 'custom'; readonly custom: { readonly name: string; readonly input: string } }
  );

export interface ChatFunctionTool extends ExtensionKeys {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: JsonObject;
    readonly strict?: boolean;
  };
  readonly cache_control?: unknown;
}

export interface ChatCustomTool extends ExtensionKeys {
  readonly type: 'custom';
  readonly custom: {
    readonly name: string;
    readonly description?: string;
    readonly format?:
      | { readonly type: 'text' }
      | { readonly type: 'grammar'; readonly grammar: { readonly definition: string; readonly syntax: string } };
  };
}

/** A tool of the server's own, as the client wrote it. */
export interface ChatExtensionTool {
  readonly type: `${string}:${string}`;
}

export type ChatTool = ChatFunctionTool | ChatCustomTool | ChatExtensionTool;

export type ChatNamedTool = ExtensionKeys &
  (
    | { readonly type: 'function'; readonly function: { readonly name: string } }
    | { readonly type: 'custom'; readonly custom: { readonly name: string } }
  );

export type ChatToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | 'any' // Mistral's value for `required`
  | ChatNamedTool
  | (ExtensionKeys & {
      readonly type: 'allowed_tools';
      readonly allowed_tools: { readonly mode: 'auto' | 'required'; readonly tools: readonly ChatNamedTool[] };
    });

export type ChatResponseFormat = ExtensionKeys &
  (
    | { readonly type: 'json_object' }
    | {
        readonly type: 'json_schema';
        readonly json_schema: {
          readonly name: string;
          readonly description?: string;
          readonly schema: JsonObject;
          readonly strict?: boolean;
        };
      }
  );

/** The client's own fields that go to the upstream as they came, by the upstream's names. */
export type Passthrough = ReadonlyMap<string, unknown>;

/** The body with the client's own fields, which win over the fields for effort: they are the upstream's own. */
export function chatRequestBody(chat: ChatCompletionRequest, passthrough: Passthrough): object {
  return passthrough.size === 0 ? chat : { ...chat, ...Object.fromEntries(passthrough) };
}
