import type { Profile } from '../../upstream/profile.ts';

/** Words by which servers say that the prompt is longer than the context, whatever the status, and who says them. */
export interface OverflowWording {
  readonly of: string;
  readonly wording: RegExp;
}

/** `test/support/overflow-wordings.ts` has an error of each. */
export const overflowTable: readonly OverflowWording[] = [
  { of: 'OpenAI, Groq, Cerebras', wording: /context_length_exceeded/ },
  { of: 'LiteLLM', wording: /ContextWindowExceeded/ },
  {
    of: 'llama.cpp (llama.cpp#19774)',
    wording: /exceed_context_size|available context size|context size has been exceeded/,
  },
  { of: 'llama-cpp-python, MiniMax, Anthropic, OpenAI', wording: /context window/ },
  { of: 'OpenAI, vLLM, Mistral, Fireworks, Novita', wording: /maximum context length/ },
  { of: 'vLLM of 2026 (vllm/renderers/params.py), Modal, NVIDIA', wording: /model's context length is only/ },
  { of: 'vLLM, by its flag', wording: /exceeds the max_model_len/ },
  { of: 'vLLM, SGLang, Together', wording: /longer than the (?:maximum model length|model's context length)/ },
  {
    of: 'LM Studio (goose#11318)',
    wording: /(?:loaded with|reached) context length of|does not fit in context length/,
  },
  { of: 'LM Studio', wording: /tokens to keep from the initial prompt is greater than the context length/ },
  { of: 'Ollama Cloud', wording: /prompt too long|exceeded max(?:imum)? context length/ },
  { of: 'Perplexity', wording: /total length of all messages is too long|too_many_prompt_tokens/ },
  { of: 'Groq', wording: /reduce the length of the messages/ },
  { of: 'DS4', wording: /configured context size is/ },
  { of: 'gateways', wording: /context length exceeded/ },
  // Rate limits have the same words, and a period.
  {
    of: 'gateways',
    wording:
      /(?<!\b(?:rate|minute|hourly|daily|weekly|monthly)\s)token limit exceeded(?!.*\b(?:wait|minute|hour|day|month)\b)/,
  },
  { of: 'Anthropic, Fireworks', wording: /prompt is too long/ },
  { of: 'Claude and MiniMax, with the limit of the answer', wording: /input length and `?max_tokens`? exceed/ },
  { of: 'xAI', wording: /maximum prompt length/ },
  {
    of: 'Ollama, DashScope, TensorRT-LLM',
    wording: /input length .*exceeds|exceed(?:s|ed)? max(?:imum)?_(?:seq_len|num_tokens|input_len)/,
  },
  { of: 'Gemini', wording: /input token count .*exceeds/ },
  { of: 'Bedrock, Databricks', wording: /input is too long/ },
  { of: 'Amazon Nova', wording: /number of input tokens exceeds maximum length/ },
  { of: 'Moonshot', wording: /exceeded model token limit/ },
  { of: 'TGI, Together', wording: /tokens \+ `max_new_tokens` must be/ },
  { of: 'TGI', wording: /`inputs` must have less than/ },
  { of: 'DashScope', wording: /range of input length should be/ },
  { of: 'Zhipu (1261)', wording: /prompt exceeds max length|prompt 超长/ },
  { of: 'Z.AI (1210), Tencent (11115)', wording: /tokens in request more than max tokens allowed/ },
  { of: 'Volcengine', wording: /exceed max message tokens/ },
  { of: 'SiliconFlow (20015)', wording: /prompt_tokens \(\d+\) must be less than max_seq_len/ },
  { of: 'GitHub Models (413)', wording: /tokens_limit_reached|request body too large for .* model/ },
  { of: 'watsonx', wording: /cannot exceed the total tokens limit/ },
  { of: 'GitHub Copilot', wording: /model_max_prompt_tokens_exceeded|prompt token count .*exceeds/ },
  { of: 'MLC', wording: /larger than the model input length limit/ },
  // Rate limits have the same words and the time to wait; a wish for more output than there may be, another limit.
  { of: 'Cohere', wording: /too many tokens(?!: max tokens must be)(?!.*\b(?:wait|minute|hour|day)\b)/ },
];

const anyWording = new RegExp(overflowTable.map(({ wording }) => `(?:${wording.source})`).join('|'), 'i');

/**
 * Do this code, type and message say that the prompt is longer than the model's context? `own` are the profile's wordings.
 */
export function saysContextOverflow(text: string, own: Profile['contextOverflow']): boolean {
  return anyWording.test(text) || own.some((wording) => wording.test(text));
}
