/** Who says it, and how: words of servers whose context is too small for the prompt, under whatever status. */
const wordings: readonly (readonly [who: string, wording: RegExp])[] = [
  ['OpenAI, Groq, Cerebras', /context_length_exceeded/],
  ['LiteLLM', /ContextWindowExceeded/],
  ['llama.cpp', /exceed_context_size|available context size/],
  ['llama-cpp-python, MiniMax, Anthropic and others', /context window/],
  ['OpenAI, vLLM, Mistral, Fireworks', /maximum context length/],
  ['vLLM, SGLang', /longer than the (?:maximum model length|model's context length)/],
  ['LM Studio', /(?:loaded with|reached) context length of/],
  ['Anthropic, Fireworks', /prompt is too long/],
  ['xAI', /maximum prompt length/],
  ['Ollama, TensorRT-LLM', /input length .*exceeds|exceed(?:s|ed)? max(?:imum)?_(?:seq_len|num_tokens|input_len)/],
  ['Gemini', /input token count .*exceeds/],
  ['Bedrock, Databricks', /input is too long/],
  ['Moonshot', /exceeded model token limit/],
  ['TGI, Together', /tokens \+ `max_new_tokens` must be/],
  ['DashScope', /range of input length should be/],
  ['Zhipu', /prompt exceeds max length/],
  ['GitHub Copilot', /model_max_prompt_tokens_exceeded|prompt token count .*exceeds/],
  ['MLC', /larger than the model input length limit/],
  // Rate limits have the same words and the time to wait.
  ['Cohere', /too many tokens(?!.*\b(?:wait|minute|hour|day)\b)/],
];

const anyWording = new RegExp(wordings.map(([, { source }]) => `(?:${source})`).join('|'), 'i');

/** Does that code, type and message say that the prompt is longer than the model's context? */
export function saysContextOverflow(text: string): boolean {
  return anyWording.test(text);
}
