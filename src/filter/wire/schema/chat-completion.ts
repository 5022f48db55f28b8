/**
 * What Chat Completions servers send, field by field. Servers leave fields out, send null, another type, or extra
 * fields, so every field is optional and `unknown`; `src/filter/translate/chat/loose.ts` reads them. A field is listed here
 * before anything reads it: a misspelt or invented one does not compile.
 */

/** An object that may have those fields, with whatever in them. */
export type Loose<Names extends string> = { readonly [Name in Names]?: unknown };

/** A completion, or one chunk of a stream. */
export interface LooseChunk {
  readonly id?: unknown;
  readonly object?: unknown;
  readonly created?: unknown;
  readonly model?: unknown;
  readonly system_fingerprint?: unknown;
  readonly service_tier?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  /** Random padding of OpenAI's streams. */
  readonly obfuscation?: unknown;
  readonly error?: unknown;
  /** Anthropic's errors have `type: "error"`. */
  readonly type?: unknown;
  /** MiniMax: the status that others give in HTTP. */
  readonly base_resp?: unknown;
  /** Groq. */
  readonly x_groq?: unknown;
  /** Perplexity. */
  readonly search_results?: unknown;
  /** Perplexity, xAI. */
  readonly citations?: unknown;
}

export interface LooseChoice {
  readonly index?: unknown;
  readonly message?: unknown;
  readonly delta?: unknown;
  readonly finish_reason?: unknown;
  readonly logprobs?: unknown;
  /** Kimi. */
  readonly usage?: unknown;
  /** OpenRouter. */
  readonly error?: unknown;
}

/** The `message` of a completion and the `delta` of a chunk: vendors put the same fields in both. */
export interface LooseMessage {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly audio?: unknown;
  /** Pictures that the model made: OpenRouter, Gemini. */
  readonly images?: unknown;
  readonly tool_calls?: unknown;
  /** The API before `tool_calls`. */
  readonly function_call?: unknown;
  readonly annotations?: unknown;
  readonly search_results?: unknown;
  readonly citations?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  /** GitHub Copilot. */
  readonly reasoning_text?: unknown;
  readonly reasoning_details?: unknown;
  readonly thinking?: unknown;
  readonly thinking_blocks?: unknown;
  /** Gemini, and gateways that carry signatures of others. */
  readonly extra_content?: unknown;
}

/** One entry of an array `content`, or of Mistral's array `thinking`. */
export type LooseContentPart = Loose<'type' | 'text' | 'thinking' | 'summary' | 'refusal' | 'image_url'>;

/** The `image_url` of a picture, where it is no string. */
export type LooseImageUrl = Loose<'url'>;

export type LooseAudio = Loose<'transcript'>;

/** One entry of `tool_calls`. */
export interface LooseToolCall {
  readonly id?: unknown;
  readonly index?: unknown;
  readonly type?: unknown;
  readonly function?: unknown;
  readonly custom?: unknown;
  readonly extra_content?: unknown;
  /** Google's own name for a signature, from proxies, and as some spell it. */
  readonly thoughtSignature?: unknown;
  readonly thought_signature?: unknown;
  /** LiteLLM. */
  readonly provider_specific_fields?: unknown;
}

/** The `function` of a call, or the `function_call` of a message. */
export interface LooseFunctionCall {
  readonly name?: unknown;
  readonly arguments?: unknown;
  /** LiteLLM's fields of a call, in the form some versions write. */
  readonly provider_specific_fields?: unknown;
}

/** The `custom` of a call. */
export type LooseCustomCall = Loose<'name' | 'input'>;

/** What must be sent back with a call or a message, an object for each vendor; Gemini's holds thought signatures. */
export type LooseExtraContent = Loose<'google'>;
export interface LooseGoogleExtras {
  readonly thought_signature?: unknown;
  /** The text of this delta is thinking. */
  readonly thought?: unknown;
}

/** The object some proxies put around `reasoning`. */
export type LooseReasoning = Loose<'text' | 'content'>;

/** One entry of OpenRouter's `reasoning_details`. It goes back to the upstream with all its fields, including those not listed. */
export type LooseReasoningDetail = Loose<
  'type' | 'index' | 'text' | 'summary' | 'data' | 'id' | 'format' | 'signature'
>;

/** One entry of LiteLLM's `thinking_blocks`: Anthropic's own block, which goes back with all its fields. `data` is of `redacted_thinking`. */
export type LooseThinkingBlock = Loose<'type' | 'thinking' | 'signature' | 'data'>;

/** One entry of `annotations`, with its fields nested (OpenAI) or flat. */
export interface LooseAnnotation extends LooseCitation {
  readonly type?: unknown;
  readonly url_citation?: unknown;
}

/** An annotation's own fields, or an entry of `search_results` or `citations`. */
export type LooseCitation = Loose<'url' | 'title' | 'start_index' | 'end_index'>;

export type LooseLogprobs = Loose<'content'>;

export type LooseTokenLogprob = Loose<'token' | 'logprob' | 'bytes' | 'top_logprobs'>;

/** Every vendor's spelling of usage. */
export interface LooseUsage {
  readonly prompt_tokens?: unknown;
  readonly completion_tokens?: unknown;
  readonly input_tokens?: unknown;
  readonly output_tokens?: unknown;
  readonly total_tokens?: unknown;
  readonly prompt_tokens_details?: unknown;
  /** Mistral. */
  readonly prompt_token_details?: unknown;
  readonly completion_tokens_details?: unknown;
  readonly input_tokens_details?: unknown;
  readonly output_tokens_details?: unknown;
  /** SGLang. */
  readonly reasoning_tokens?: unknown;
  /** DeepSeek. */
  readonly prompt_cache_hit_tokens?: unknown;
  /** Kimi. */
  readonly cached_tokens?: unknown;
  /** Mistral. */
  readonly num_cached_tokens?: unknown;
  /** Anthropic, LiteLLM. */
  readonly cache_read_input_tokens?: unknown;
  readonly cache_creation_input_tokens?: unknown;
}

/** The `…_tokens_details` of usage. */
export type LooseTokenDetails = Loose<
  | 'audio_tokens'
  | 'cached_tokens'
  | 'cache_write_tokens'
  | 'cache_creation_tokens'
  | 'cache_creation_input_tokens'
  | 'reasoning_tokens'
>;

/** Groq's `x_groq`. */
export type LooseGroqExtras = Loose<'error' | 'usage'>;

/** An error body, the `error` in it, or one entry of a list of errors. */
export interface LooseError {
  readonly error?: unknown;
  readonly errors?: unknown;
  readonly message?: unknown;
  /** AWS. */
  readonly Message?: unknown;
  readonly msg?: unknown;
  readonly error_message?: unknown;
  /** MiniMax. */
  readonly status_msg?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly status_code?: unknown;
  readonly type?: unknown;
  readonly error_type?: unknown;
  readonly param?: unknown;
  /** FastAPI's list of faults. */
  readonly detail?: unknown;
  /** Gemini. */
  readonly details?: unknown;
  /** The place of a FastAPI fault. */
  readonly loc?: unknown;
  /** OpenRouter. */
  readonly metadata?: unknown;
}

/** One entry of Gemini's `details`. */
export type LooseErrorDetail = Loose<'retryDelay'>;

/** OpenRouter's `metadata`. */
export type LooseErrorMetadata = Loose<'provider_name' | 'raw'>;
