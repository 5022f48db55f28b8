import type { Profile } from '../../../upstream/profile.ts';

/**
 * The wordings in which servers say, under any status, that the prompt is longer than the context. `test/support/overflow-wordings.ts` has
 * an error of each server.
 */
export const overflowTable: readonly (readonly [of: string, wording: RegExp])[] = [
  ['OpenAI, Groq, Cerebras', /context_length_exceeded/],
  ['LiteLLM', /ContextWindowExceeded/],
  ['llama.cpp (llama.cpp#19774)', /exceed_context_size|available context size|context size has been exceeded/],
  ['llama-cpp-python, MiniMax, Anthropic, OpenAI', /context window/],
  ['OpenAI, vLLM, Mistral, Fireworks, Novita', /maximum context length/],
  ['vLLM of 2026 (vllm/renderers/params.py), Modal, NVIDIA', /model's context length is only/],
  ['vLLM, by its flag', /exceeds the max_model_len/],
  ['vLLM, SGLang, Together', /longer than the (?:maximum model length|model's context length)/],
  ['LM Studio (goose#11318)', /(?:loaded with|reached) context length of|does not fit in context length/],
  ['LM Studio', /tokens to keep from the initial prompt is greater than the context length/],
  ['Ollama Cloud', /prompt too long|exceeded max(?:imum)? context length/],
  ['Perplexity', /total length of all messages is too long|too_many_prompt_tokens/],
  ['Groq', /reduce the length of the messages/],
  ['DS4', /configured context size is/],
  ['gateways', /context length exceeded/],
  // Errors of rate limits have the same words, and a period.
  [
    'gateways',
    /(?<!\b(?:rate|minute|hourly|daily|weekly|monthly)\s)token limit exceeded(?!.*\b(?:wait|minute|hour|day|month)\b)/,
  ],
  ['Anthropic, Fireworks', /prompt is too long/],
  ['Claude and MiniMax, with the limit of the answer', /input length and `?max_tokens`? exceed/],
  ['xAI', /maximum prompt length/],
  [
    'Ollama, DashScope, TensorRT-LLM',
    /input length .*exceeds|exceed(?:s|ed)? max(?:imum)?_(?:seq_len|num_tokens|input_len)/,
  ],
  ['Gemini', /input token count .*exceeds/],
  ['Bedrock, Databricks', /input is too long/],
  ['Amazon Nova', /number of input tokens exceeds maximum length|too many input tokens\. max input tokens/],
  ['Moonshot', /exceeded model token limit/],
  ['TGI, Together', /tokens \+ `max_new_tokens` must be/],
  ['TGI', /`inputs` must have less than/],
  ['DashScope', /range of input length should be/],
  ['Zhipu (1261)', /prompt exceeds max length|prompt 超长/],
  ['Z.AI (1210), Tencent (11115)', /tokens in request more than max tokens allowed/],
  ['Tencent (11115)', /input length too long/],
  ['Volcengine', /exceed max message tokens/],
  ['SiliconFlow (20015)', /prompt_tokens \(\d+\) must be less than max_seq_len/],
  ['GitHub Models (413)', /tokens_limit_reached|request body too large for .* model/],
  ['watsonx', /cannot exceed the total tokens limit|token_quantity_exceeded/],
  ['GitHub Copilot', /model_max_prompt_tokens_exceeded|prompt token count .*exceeds/],
  ['MLC', /larger than the model input length limit/],
  // Errors of rate limits have the same words and the time to wait, and those for too much output have `max tokens must be`.
  ['Cohere', /too many tokens(?!: max tokens must be)(?!.*\b(?:wait|minute|hour|day)\b)/],
];

const anyWording = new RegExp(overflowTable.map(([, wording]) => `(?:${wording.source})`).join('|'), 'i');

/** Does this text say that the prompt is longer than the model's context? `own` is the profile's wordings. */
export function saysContextOverflow(text: string, own: Profile['contextOverflow']): boolean {
  return anyWording.test(text) || own.some((wording) => wording.test(text));
}
