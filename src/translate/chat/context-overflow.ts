import type { Profile } from '../../upstream/profile.ts';

/** The wordings of servers whose context is too small for the prompt, whatever the status. */
const wordings: readonly (readonly [who: string, wording: RegExp])[] = [
  ['OpenAI, Groq, Cerebras', /context_length_exceeded/],
  ['LiteLLM', /ContextWindowExceeded/],
  ['llama.cpp', /exceed_context_size|available context size|context size has been exceeded/], // llama.cpp#19774
  ['llama-cpp-python, MiniMax, Anthropic and others', /context window/],
  ['OpenAI, vLLM, Mistral, Fireworks', /maximum context length/],
  ['vLLM, SGLang', /longer than the (?:maximum model length|model's context length)/],
  ['LM Studio', /(?:loaded with|reached) context length of|does not fit in context length/], // goose#11318
  ['LM Studio', /tokens to keep from the initial prompt is greater than the context length/],
  ['Ollama Cloud', /prompt too long|exceeded max(?:imum)? context length/],
  ['Perplexity', /total length of all messages is too long|too_many_prompt_tokens/],
  ['Groq', /reduce the length of the messages/],
  ['DS4', /configured context size is/],
  ['gateways', /context length exceeded/],
  // Rate limits have the same words, and a period.
  [
    'gateways',
    /(?<!\b(?:rate|minute|hourly|daily|weekly|monthly)\s)token limit exceeded(?!.*\b(?:wait|minute|hour|day|month)\b)/,
  ],
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

/**
 * Do this code, type and message say that the prompt is longer than the model's context? `own` are the profile's wordings.
 */
export function saysContextOverflow(text: string, own: Profile['contextOverflow']): boolean {
  return anyWording.test(text) || own.some((wording) => wording.test(text));
}
