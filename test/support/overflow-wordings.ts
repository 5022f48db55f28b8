/** Servers' errors for a prompt that is longer than the context: wordings that were added after the first ones. */
export const overflowWordings: readonly (readonly [who: string, message: string])[] = [
  ['llama.cpp', 'Context size has been exceeded.'],
  ['llama.cpp, earlier', 'the request exceeds the available context size, try increasing it'],
  ['LM Studio', 'Input does not fit in context length. The input has 9000 tokens'],
  ['LM Studio, earlier', 'The number of tokens to keep from the initial prompt is greater than the context length.'],
  ['Ollama Cloud', 'prompt too long; exceeded max context length by 900 tokens'],
  ['Perplexity', 'The total length of all messages is too long.'],
  ['Perplexity, by its code', 'too_many_prompt_tokens'],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['DS4', 'The prompt has 9000 tokens, configured context size is 4096'],
  ['a gateway', 'Token limit exceeded for this model'],
  ['another gateway', 'Context length exceeded'],
];
