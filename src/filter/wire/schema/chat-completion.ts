/**
 * What Chat Completions servers send, field by field. Servers leave fields out, send null, another type, or extra
 * fields, so every field is optional and `unknown`; `src/formats/json/loose.ts` reads them. A field is listed here
 * before anything reads it: a misspelt or invented one does not compile.
 */

/** An object that may have those fields, with whatever in them. */
export type Loose<Names extends string> = { readonly [Name in Names]?: unknown };

/** The fields of a completion, or of one chunk of a stream. */
export const chunkFields = {
  ...{ id: 0, object: 0, created: 0, model: 0, system_fingerprint: 0, service_tier: 0, choices: 0, usage: 0, error: 0 },
  obfuscation: 0, // random padding of OpenAI's streams
  type: 0, // Anthropic's errors have `type: "error"`
  base_resp: 0, // MiniMax: the status that others give in HTTP
  x_groq: 0,
  search_results: 0, // Perplexity
  citations: 0, // Perplexity, xAI
};
export type LooseChunk = Loose<keyof typeof chunkFields>;

export const choiceFields = {
  ...{ index: 0, message: 0, delta: 0, finish_reason: 0, logprobs: 0 },
  usage: 0, // Kimi
  error: 0, // OpenRouter
};
export type LooseChoice = Loose<keyof typeof choiceFields>;

/** The parts of an answer that a choice can hold. */
export type Kind = 'text' | 'reasoning' | 'calls' | 'pictures';

/** The fields of the `message` of a completion and the `delta` of a chunk, which vendors give the same, each with the part it is of. */
export const messageKinds = {
  role: null,
  content: 'text',
  refusal: 'text',
  audio: 'text',
  images: 'pictures', // that the model made: OpenRouter, Gemini
  tool_calls: 'calls',
  function_call: 'calls', // the API before `tool_calls`
  annotations: 'text',
  search_results: 'text',
  citations: 'text',
  reasoning_content: 'reasoning',
  reasoning: 'reasoning',
  reasoning_text: 'reasoning', // GitHub Copilot
  reasoning_details: 'reasoning',
  thinking: 'reasoning',
  thinking_blocks: 'reasoning',
  extra_content: null, // Gemini, and gateways that carry signatures of others
} as const satisfies Record<string, Kind | null>;
export type LooseMessage = Loose<keyof typeof messageKinds>;

/** One entry of an array `content`, or of Mistral's array `thinking`. */
export type LooseContentPart = Loose<'type' | 'text' | 'thinking' | 'summary' | 'refusal' | 'image_url'>;

/** The `image_url` of a picture, where it is no string. */
export type LooseImageUrl = Loose<'url'>;

export type LooseAudio = Loose<'transcript'>;

/** One entry of `tool_calls`. */
export type LooseToolCall = Loose<
  | ('id' | 'index' | 'type' | 'function' | 'custom' | 'extra_content')
  | ('thoughtSignature' | 'thought_signature') // Google's own name for a signature, from proxies, and as some spell it
  | 'provider_specific_fields' // LiteLLM
>;

/** The `function` of a call, or the `function_call` of a message; some versions of LiteLLM write its fields of a call there. */
export type LooseFunctionCall = Loose<'name' | 'arguments' | 'provider_specific_fields'>;

/** The `custom` of a call. */
export type LooseCustomCall = Loose<'name' | 'input'>;

/** What must be sent back with a call or a message, an object for each vendor; Gemini's holds thought signatures. */
export type LooseExtraContent = Loose<'google'>;
/** With `thought` the text of this delta is thinking. */
export type LooseGoogleExtras = Loose<'thought_signature' | 'thought'>;

/** The object some proxies put around `reasoning`. */
export type LooseReasoning = Loose<'text' | 'content'>;

/** One entry of OpenRouter's `reasoning_details`. It goes back to the upstream with all its fields, including those not listed. */
export type LooseReasoningDetail = Loose<
  'type' | 'index' | 'text' | 'summary' | 'data' | 'id' | 'format' | 'signature'
>;

/** One entry of LiteLLM's `thinking_blocks`: Anthropic's own block, which goes back with all its fields. `data` is of `redacted_thinking`. */
export type LooseThinkingBlock = Loose<'type' | 'thinking' | 'signature' | 'data'>;

/** One entry of `annotations`, with its fields nested (OpenAI) or flat. */
export type LooseAnnotation = LooseCitation & Loose<'type' | 'url_citation'>;

/** An annotation's own fields, or an entry of `search_results` or `citations`. */
export type LooseCitation = Loose<'url' | 'title' | 'start_index' | 'end_index'>;

export type LooseLogprobs = Loose<'content'>;

export type LooseTokenLogprob = Loose<'token' | 'logprob' | 'bytes' | 'top_logprobs'>;

/** Every vendor's spelling of usage. */
export type LooseUsage = Loose<
  | ('prompt_tokens' | 'completion_tokens' | 'input_tokens' | 'output_tokens' | 'total_tokens')
  | ('prompt_tokens_details' | 'completion_tokens_details' | 'input_tokens_details' | 'output_tokens_details')
  | ('prompt_token_details' | 'num_cached_tokens') // Mistral
  | 'reasoning_tokens' // SGLang
  | 'prompt_cache_hit_tokens' // DeepSeek
  | 'cached_tokens' // Kimi
  | ('cache_read_input_tokens' | 'cache_creation_input_tokens') // Anthropic, LiteLLM
  | 'cache_read_tokens' // cli2api
>;

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
export type LooseError = Loose<
  | ('error' | 'errors' | 'message' | 'msg' | 'error_message' | 'code' | 'status' | 'status_code')
  | ('type' | 'error_type' | 'param')
  | 'Message' // AWS
  | 'status_msg' // MiniMax
  | ('detail' | 'loc') // FastAPI's list of faults, and the place of one
  | 'details' // Gemini
  | 'metadata' // OpenRouter
  | ('value' | 'cause') // Vercel's AI Gateway, and whatever JavaScript caught
>;

/** One entry of Gemini's `details`. */
export type LooseErrorDetail = Loose<'retryDelay'>;

/** OpenRouter's `metadata`. */
export type LooseErrorMetadata = Loose<'provider_name' | 'raw'>;
