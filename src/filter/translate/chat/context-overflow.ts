import type { Profile } from '../../upstream/profile.ts';

/** The wordings of servers whose context is too small for the prompt, whatever the status. */
const wordings: readonly RegExp[] = [
  /context_length_exceeded/, // OpenAI, Groq, Cerebras
  /ContextWindowExceeded/, // LiteLLM
  /exceed_context_size|available context size|context size has been exceeded/, // llama.cpp: llama.cpp#19774
  /context window/, // llama-cpp-python, MiniMax, Anthropic and others
  /maximum context length/, // OpenAI, vLLM, Mistral, Fireworks
  /longer than the (?:maximum model length|model's context length)/, // vLLM, SGLang
  /(?:loaded with|reached) context length of|does not fit in context length/, // LM Studio: goose#11318
  /tokens to keep from the initial prompt is greater than the context length/, // LM Studio
  /prompt too long|exceeded max(?:imum)? context length/, // Ollama Cloud
  /total length of all messages is too long|too_many_prompt_tokens/, // Perplexity
  /reduce the length of the messages/, // Groq
  /configured context size is/, // DS4
  /context length exceeded/, // gateways
  // Gateways. Rate limits have the same words, and a period.
  /(?<!\b(?:rate|minute|hourly|daily|weekly|monthly)\s)token limit exceeded(?!.*\b(?:wait|minute|hour|day|month)\b)/,
  /prompt is too long/, // Anthropic, Fireworks
  /maximum prompt length/, // xAI
  /input length .*exceeds|exceed(?:s|ed)? max(?:imum)?_(?:seq_len|num_tokens|input_len)/, // Ollama, TensorRT-LLM
  /input token count .*exceeds/, // Gemini
  /input is too long/, // Bedrock, Databricks
  /exceeded model token limit/, // Moonshot
  /tokens \+ `max_new_tokens` must be/, // TGI, Together
  /range of input length should be/, // DashScope
  /prompt exceeds max length/, // Zhipu
  /model_max_prompt_tokens_exceeded|prompt token count .*exceeds/, // GitHub Copilot
  /larger than the model input length limit/, // MLC
  // Cohere. Rate limits have the same words and the time to wait.
  /too many tokens(?!.*\b(?:wait|minute|hour|day)\b)/,
];

const anyWording = new RegExp(wordings.map(({ source }) => `(?:${source})`).join('|'), 'i');

/**
 * Do this code, type and message say that the prompt is longer than the model's context? `own` are the profile's wordings.
 */
export function saysContextOverflow(text: string, own: Profile['contextOverflow']): boolean {
  return anyWording.test(text) || own.some((wording) => wording.test(text));
}
