import type { CacheHints, ChatContentPart, ChatExtensionTool, ExtensionKeys } from '../../wire/schema/chat-request.ts';
import type { CustomToolFormat, JsonSchemaFormat } from '../../wire/schema/create-response.ts';
import type { ToolEcho } from '../../wire/schema/response-resource.ts';
import type { RestoredTool } from './context.ts';
import type { ReasoningEnvelope } from './envelopes.ts';
import type { CreateResponseFields } from './request-fields.ts';

/** A parsed `CreateResponse`, with every value checked: fields of one value as the client sent them, the others in the types below. */
export interface CreateResponse
  extends Omit<CreateResponseFields, 'input' | 'include' | 'tools' | 'tool_choice' | 'allowed_tools' | 'text'> {
  readonly include: readonly string[];
  readonly input: readonly InputItem[] | null;
  readonly prewarm: Prewarm | null;
  readonly endsInTrigger: boolean;
  /** The tools to offer, in order, each name once: those of `tools`, then those found in `input`. */
  readonly tools: readonly ToolDefinition[];
  /** The request's own `tools`, as the Response repeats them. */
  readonly listedTools: readonly ToolEcho[];
  readonly tool_choice: ToolChoiceRequest | null;
  readonly text: { readonly format: TextFormatRequest; readonly verbosity: string | null };
}

/** The field that asks a server to keep the prompt's beginning, and to answer nothing. */
export type Prewarm = 'generate' | 'prompt_cache_options.prewarm';

/** An input item that has a place in Chat messages. */
export type InputItem = InputMessage | InputToolCall | InputToolOutput | InputReasoning;

export interface InputMessage {
  readonly kind: 'message';
  readonly role: 'user' | 'assistant' | 'system' | 'developer';
  readonly content: readonly InputContent[];
  /** The server's own keys, which its Chat message has too. */
  readonly extensions?: ExtensionKeys;
}

export function userMessage(text: string): InputMessage {
  return { kind: 'message', role: 'user', content: [{ type: 'text', text }] };
}

/** A call that the model made earlier. Its Chat name is found once all tools are known. */
export interface InputToolCall {
  readonly kind: 'call';
  readonly param: string;
  readonly callId: string;
  /** The input is text in any form, as of a custom tool, and not JSON. */
  readonly takesText: boolean;
  readonly name: string;
  readonly namespace: string | null;
  /** JSON text of the arguments, or a custom tool's input verbatim. */
  readonly input: string;
  /** The output may come in a later round, or not yet. */
  readonly isAsync: boolean;
  /** The answer ended within the call. Nobody could run it, so there may be no output. */
  readonly isCut: boolean;
}

export interface InputToolOutput {
  readonly kind: 'output';
  readonly param: string;
  readonly callId: string;
  /** The call of which it is the output; null if none precedes it. */
  readonly call: InputToolCall | null;
  readonly content: readonly InputContent[];
}

export interface InputReasoning {
  readonly kind: 'reasoning';
  readonly id: string | null;
  /** Another server made the `encrypted_content`. */
  readonly isForeign: boolean;
  readonly text: string;
  readonly summaries: readonly string[];
  /** The contents of `encrypted_content`; null if absent or not made here. */
  readonly envelope: ReasoningEnvelope | null;
}

/**
 * A content part, as Chat has it, or with what the message around it settles. Text of every kind, text files included, is
 * `text`; a refusal is in an assistant's history.
 */
export type InputContent =
  | InputText
  | { readonly type: 'refusal'; readonly refusal: string }
  | Exclude<ChatContentPart, { readonly type: 'text' }>;

export interface InputText extends CacheHints, ExtensionKeys {
  readonly type: 'text';
  readonly text: string;
  /** The text has lines of its own: a file, say, is not a piece of the text next to it. */
  readonly hasOwnLines?: true;
}

interface NamedDefinition {
  readonly param: string;
  /** The name by which the upstream knows the tool; unique in the request. */
  readonly chatName: string;
  readonly origin: RestoredTool;
  readonly description: string | null;
  /** The server's own keys, which stand beside the function. */
  readonly extensions?: ExtensionKeys | null;
  /** A tool that the model may call before any search, as a search of OpenAI's servers would have given it. */
  readonly found?: ToolEcho;
}

/** A function, or a `tool_search` that the client runs: upstreams see both alike. */
export interface FunctionDefinition extends NamedDefinition {
  readonly kind: 'function';
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly strict: boolean | null | undefined;
  /** A cache breakpoint, for a server that knows it. */
  readonly cacheControl?: unknown;
}

export interface CustomDefinition extends NamedDefinition {
  readonly kind: 'custom';
  readonly format: (CustomToolFormat & { readonly extensions: ExtensionKeys | null }) | null;
}

/** A tool of the server's own, which is sent as it is. */
export interface ExtensionDefinition extends NamedDefinition {
  readonly kind: 'extension';
  readonly tool: ChatExtensionTool;
}

export type ToolDefinition = FunctionDefinition | CustomDefinition | ExtensionDefinition;

export type ToolChoiceMode = 'auto' | 'none' | 'required';

export type ToolChoiceRequest =
  | { readonly type: 'mode'; readonly mode: ToolChoiceMode }
  | { readonly type: 'named'; readonly tool: ChosenTool }
  | {
      readonly type: 'allowed_tools';
      readonly mode: ToolChoiceMode;
      readonly tools: readonly ChosenTool[];
      readonly extensions: ExtensionKeys | null;
    };

/** A tool that `tool_choice` names, and that may turn out not to exist once all tools are known. */
export interface ChosenTool {
  /** The path of the object with the name; `at` is the path of the choice. */
  readonly param: string;
  readonly at: string;
  /** Null where the choice has only a name. */
  readonly type: string | null;
  readonly name: string;
  readonly namespace: string | null;
  readonly extensions: ExtensionKeys | null;
}

export type TextFormatRequest =
  | { readonly type: 'text' }
  | ({ readonly type: 'json_object' } & FormatPlace)
  | ({ readonly type: 'json_schema' } & JsonSchemaFormat & FormatPlace);

interface FormatPlace {
  readonly param: string;
  readonly extensions: ExtensionKeys | null;
}
