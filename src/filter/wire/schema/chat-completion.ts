/**
 * The fields that Chat Completions servers send. Servers leave fields out, send null, another type, or extra
 * fields, so every field is optional and `unknown`, and `src/formats/json/loose.ts` reads them. A field is listed here
 * before anything reads it: a misspelt or invented field does not compile.
 */

/** An object that may have those fields, with any values. */
export type Loose<Names extends string> = { readonly [Name in Names]?: unknown };

/** The fields of a completion, or of one chunk of a stream. */
export const chunkFields = {
  id: 0,
  object: 0,
  created: 0,
  model: 0,
  system_fingerprint: 0,
  service_tier: 0,
  choices: 0,
  usage: 0,
  error: 0,
  obfuscation: 0, // random padding of OpenAI's streams
  type: 0, // Anthropic's errors have `type: "error"`
  base_resp: 0, // MiniMax: the status that others give in HTTP
  x_groq: 0,
  moderation: 0, // OpenAI: what its service says of the prompt and the answer
  search_results: 0, // Perplexity
  citations: 0, // Perplexity, xAI
};
export type LooseChunk = Loose<keyof typeof chunkFields>;

export const choiceFields = {
  index: 0,
  message: 0,
  delta: 0,
  finish_reason: 0,
  logprobs: 0,
  usage: 0, // Kimi
  error: 0, // OpenRouter
  native_finish_reason: 0, // OpenRouter: the reason in the words of the provider behind it
};
export type LooseChoice = Loose<keyof typeof choiceFields>;

/** The parts of an answer that a choice can hold. */
export type Kind = 'text' | 'reasoning' | 'calls' | 'pictures';

/** The fields of a completion's `message` and a chunk's `delta`, which vendors give the same, each with its part of the answer. */
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

export type LooseAudio = Loose<'transcript' | 'data'>;

/** OpenAI's verdicts on the prompt and on the answer, each an error or a list with a result for each text. */
export type LooseModeration = Loose<'input' | 'output'>;
export type LooseVerdict = Loose<'type' | 'results'>;
export type LooseModerationResult = Loose<
  'flagged' | 'categories' | 'category_scores' | 'category_applied_input_types'
>;

export type LooseToolCall = Loose<
  | ('id' | 'index' | 'type' | 'function' | 'custom' | 'extra_content')
  | ('thoughtSignature' | 'thought_signature') // Google's own name for a signature, from proxies, and as some spell it
  | 'provider_specific_fields' // LiteLLM
>;

/** The `function` of a call, or the `function_call` of a message. Some versions of LiteLLM write their own fields of a call there. */
export type LooseFunctionCall = Loose<'name' | 'arguments' | 'provider_specific_fields'>;

export type LooseCustomCall = Loose<'name' | 'input'>;

/** Data that must be sent back with a call or a message, an object for each vendor; Gemini's object holds thought signatures. */
export type LooseExtraContent = Loose<'google'>;
/** With `thought`, the text of the delta is thinking. */
export type LooseGoogleExtras = Loose<'thought_signature' | 'thought'>;

/** The object that some proxies put around `reasoning`. */
export type LooseReasoning = Loose<'text' | 'content'>;

/** One entry of OpenRouter's `reasoning_details`. It goes back to the upstream with all its fields, including those not listed. */
export type LooseReasoningDetail = Loose<
  'type' | 'index' | 'text' | 'summary' | 'data' | 'id' | 'format' | 'signature'
>;

/** One entry of LiteLLM's `thinking_blocks`: Anthropic's block, which goes back with all its fields. `data` is of `redacted_thinking`. */
export type LooseThinkingBlock = Loose<'type' | 'thinking' | 'signature' | 'data'>;

/** One entry of `annotations`, with its fields nested (OpenAI) or flat. */
export type LooseAnnotation = LooseCitation &
  Loose<'type' | 'url_citation' | 'file_citation' | 'container_file_citation'>;

/** An annotation's own fields, or an entry of `search_results` or `citations`. */
export type LooseCitation = Loose<
  'url' | 'title' | 'start_index' | 'end_index' | 'file_id' | 'filename' | 'index' | 'container_id'
>;

export type LooseLogprobs = Loose<'content'>;

export type LooseTokenLogprob = Loose<'token' | 'logprob' | 'bytes' | 'top_logprobs'>;

/** The names of usage, by all vendors. */
export const usageFields = {
  prompt_tokens: 0,
  completion_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  prompt_tokens_details: 0,
  completion_tokens_details: 0,
  input_tokens_details: 0,
  output_tokens_details: 0,
  prompt_token_details: 0,
  num_cached_tokens: 0, // Mistral
  reasoning_tokens: 0, // SGLang
  prompt_cache_hit_tokens: 0, // DeepSeek
  cached_tokens: 0, // Kimi
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0, // Anthropic, LiteLLM
  cache_read_tokens: 0, // cli2api
};
export type LooseUsage = Loose<keyof typeof usageFields>;

export const tokenDetailsFields = {
  cached_tokens: 0,
  cache_write_tokens: 0,
  cache_creation_tokens: 0,
  cache_creation_input_tokens: 0,
  reasoning_tokens: 0,
};
/** Tokens of sounds only add to the total: the API has no field for them. */
export type LooseTokenDetails = Loose<keyof typeof tokenDetailsFields | 'audio_tokens'>;

export type LooseGroqExtras = Loose<'error' | 'usage'>;

/** An error body, the `error` in it, or one entry of a list of errors. */
export type LooseError = Loose<
  | ('error' | 'errors' | 'message' | 'msg' | 'error_message' | 'code' | 'status' | 'status_code')
  | ('type' | 'error_type' | 'param')
  | 'Message' // AWS
  | 'statusCode' // NestJS, Fastify
  | 'error_description' // OAuth
  | 'status_msg' // MiniMax
  | ('detail' | 'loc') // FastAPI's list of faults, and the place of one
  | 'details' // Gemini
  | 'metadata' // OpenRouter
  | ('value' | 'cause') // Vercel's AI Gateway, and whatever JavaScript caught
>;

export type LooseErrorDetail = Loose<'retryDelay'>;

export type LooseErrorMetadata = Loose<'provider_name' | 'raw'>;
