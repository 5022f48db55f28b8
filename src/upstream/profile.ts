/**
 * The differences between Chat Completions servers, as data: one row each. A row says what the *server* accepts and
 * sends; the code that reads a flag says what is done about it. Reasons and sources: `docs/upstreams.md`.
 */
export interface Profile {
  readonly name: string;
  /** Path that replaces `/v1/responses` (a prefix before `/v1` is kept); `{model}` is filled in. */
  readonly path: string;

  // What is sent: fields
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** `stream_options.include_usage` is understood. */
  readonly includeUsage: boolean;
  /** `stream_options.include_obfuscation: false` is understood (and wanted: padding is ours to add). */
  readonly obfuscationOff: boolean;
  /** Chat fields the server refuses or does not know; a request that needs one is refused here. */
  readonly refusedFields: readonly RefusableField[];
  readonly verbosity: boolean;
  readonly user: boolean;
  readonly safetyIdentifier: boolean;
  readonly promptCacheKey: boolean;
  /** `prompt_cache_retention`, `prompt_cache_options` and breakpoints in content parts. */
  readonly promptCacheOptions: boolean;
  /** Tiers the server knows, to the word it has for them. */
  readonly serviceTiers: Readonly<Record<string, string>>;
  /** Fields under another name upstream: `seed` → `random_seed`. */
  readonly renames: Readonly<Record<string, string>>;
  readonly jsonSchema: 'native' | 'json_object' | 'prompt';

  // What is sent: reasoning
  /** Field that takes the effort. */
  readonly reasoningEffort: 'reasoning_effort' | 'reasoning_object' | 'thinking_type' | 'enable_thinking' | 'none';
  /** Efforts a model refuses, and what it is sent instead; the first rule that matches the model counts. */
  readonly effortRules: readonly EffortRule[];
  /** How earlier reasoning is given back. */
  readonly reasoningReplay:
    | 'none'
    | 'reasoning_content'
    | 'reasoning'
    | 'both'
    | 'reasoning_details'
    | 'mistral_thinking';
  /** Which assistant messages get theirs back: every one, or those after the last user message. */
  readonly reasoningScope: 'all' | 'tool_turns';
  /** What stands in for missing reasoning where the server demands the field, and on which assistant messages. */
  readonly reasoningBackfill: { readonly text: string; readonly on: 'all' | 'calls' } | null;
  /** Tool calls carry a thought signature in `extra_content`, and must give it back. */
  readonly geminiSignatures: boolean;

  // What is sent: messages
  readonly developerRole: 'keep' | 'system';
  /** Where system messages may stand: as they came; the leading ones as one; or only leading, as one. */
  readonly systemMessages: 'anywhere' | 'merge_leading' | 'leading_only';
  /** `content` of an assistant message that holds only tool calls. */
  readonly emptyAssistantContent: 'null' | 'empty';
  /** Several text parts may stay an array; otherwise they are joined with a line feed. */
  readonly arrayContent: boolean;
  /** Assistant messages have a `refusal` field. */
  readonly refusalField: boolean;
  /** The shape of file parts; `none` takes only text files, as text. */
  readonly file: 'openai' | 'mistral' | 'openrouter' | 'none';
  readonly audio: boolean;
  readonly video: boolean;
  /** Tool call ids must be nine letters or digits. */
  readonly nineCharacterIds: boolean;
  /** Tool messages repeat the function's name. */
  readonly toolMessageName: boolean;
  /** After a tool message only an assistant or another tool may speak. */
  readonly assistantAfterTool: boolean;
  /** A last assistant message is a prefix to continue only when marked `prefix: true`. */
  readonly assistantPrefix: boolean;

  // What is sent: tools
  /** `strict` of functions and of JSON schemas is understood. */
  readonly strict: boolean;
  readonly customTools: 'native' | 'wrapped';
  readonly parallelToolCalls: boolean;
  readonly toolChoice: ToolChoiceSupport;

  // What comes back
  /** Reasoning arrives as `<think>…</think>` inside the text. */
  readonly thinkTags: boolean;
  /** The text begins inside the reasoning, without an opening tag. */
  readonly implicitThink: boolean;
  /** Reasoning tokens are not part of `completion_tokens`. */
  readonly reasoningTokensExtra: boolean;
  /** The last chunk may repeat the whole text. */
  readonly dedupeTail: boolean;
}

export type RefusableField = 'presence_penalty' | 'frequency_penalty' | 'logprobs' | 'stop';

export interface EffortRule {
  readonly models: RegExp;
  readonly efforts: Readonly<Record<string, string>>;
}

/** `tool_choice` as the server reads it. What it cannot say is said by offering fewer tools. */
export interface ToolChoiceSupport {
  /** False: the server ignores the field, so it is not sent. */
  readonly sent: boolean;
  /** Its word for “call some tool”; null when it has none. */
  readonly required: 'required' | 'any' | null;
  /** One function by name. */
  readonly named: boolean;
  /** `allowed_tools`. */
  readonly allowed: boolean;
}
