import { templateRules } from '../chat-templates.ts';
import {
  dashscopeChoice,
  ignoredChoice,
  modeChoice,
  newerLimit,
  noNull,
  noSound,
  readsReasoningContent,
} from './common.ts';
import { server } from './generic.ts';

/** Engines that people run themselves. */

export const vllm = server({
  name: 'vllm',
  recognisedBy: { engine: { ownedBy: 'vllm', path: '/metrics' } },
  about:
    'vLLM’s OpenAI-compatible server. As observed in 0.32; 0.33 was not run. It enforces a function’s schema only if the function is `strict`: otherwise even `tool_choice: "required"` can give arguments that are not an object. With a reasoning parser, `response_format` and functions that are not strict together are a 500. A call that its parser cannot read is text in a JSON answer and missing from a stream.',
  flags: {
    maxTokensField: newerLimit,
    reasoningReplay: [
      'both',
      'Took `reasoning_content`, then `reasoning` (vllm#27752); both are sent, and the one it does not know is ignored. 0.32 reads either (observed).',
    ],
    customTools: [
      'wrapped_strict',
      '0.32 refuses custom tools, and gave a wrapping function that was not strict the bare string `"Oslo"` for arguments (observed).',
    ],
    video: [true, 'Takes `video_url` parts.'],
    prefixCache: [true, 'Prefix caching is on unless the server is started without it (observed with 0.32).'],
    tokenizePath: ['/tokenize', 'Takes a chat request there and applies the model’s template.'],
  },
  models: templateRules,
});

export const sglang = server({
  name: 'sglang',
  recognisedBy: { engine: { ownedBy: 'sglang', path: null } },
  about: 'SGLang’s OpenAI-compatible server.',
  flags: {
    maxTokensField: newerLimit,
    reasoningReplay: readsReasoningContent,
    video: [true, 'Takes `video_url` parts.'],
    prefixCache: [true, 'Its radix cache is on unless the server is started without it. †'],
  },
  models: templateRules,
});

export const llamaCpp = server({
  name: 'llama.cpp',
  recognisedBy: { engine: { ownedBy: 'llamacpp', path: '/props' } },
  about:
    'The HTTP server of llama.cpp. With `response_format` and `tools` at once the schema wins and no tool can be called; `parallel_tool_calls: false` has no effect (observed). It closes idle connections after five seconds: set the cluster’s `idle_timeout` below that.',
  flags: {
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: noNull,
    toolChoice: [modeChoice, 'A named function is ignored (observed): it is offered alone and required instead.'],
    prefixCache: [
      true,
      'A slot keeps its last prompt, and a request gets the slot whose prompt shares most with its own (observed).',
    ],
    tokenizePath: ['/v1/chat/completions/input_tokens', 'Takes a chat request there and applies the model’s template.'],
  },
  models: templateRules,
});

export const ollama = server({
  name: 'ollama',
  recognisedBy: { engine: { ownedBy: null, path: '/api/version' } },
  about:
    'Ollama. It silently cuts long prompts to its context window, and answers 400 to efforts a model does not know: raise `num_ctx` on the server.',
  flags: {
    effortRules: [
      [{ models: /./, efforts: { minimal: 'low', xhigh: 'high' } }],
      'Knows none, low, medium, high and, in newer versions, max.',
    ],
    reasoningReplay: ['reasoning', 'Its name for the field.'],
    emptyAssistantContent: noNull,
    audio: noSound,
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [
      ignoredChoice,
      'Not read: `none` offers no tools, one function is offered alone, and `required` is named as left out.',
    ],
  },
  models: templateRules,
});

export const lmstudio = server({
  name: 'lmstudio',
  recognisedBy: {
    not: 'It listens wherever its user chooses, and its list of models names the owner as `organization_owner`, which names no engine.',
  },
  about: 'LM Studio’s local server.',
  flags: {
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Null is a 400 (lmstudio-bug-tracker#261).'],
    audio: noSound,
    toolChoice: [modeChoice, 'The three words only. †'],
  },
  models: templateRules,
});

export const tgi = server({
  name: 'tgi',
  recognisedBy: {
    not: 'It listens wherever its operator chooses, and its list of models gives the model’s own name as the owner.',
  },
  about: 'Hugging Face TGI and its router. Errors are 422, and are converted to the API’s form.',
  flags: {
    emptyAssistantContent: noNull,
    audio: noSound,
    strict: [false, 'Not in its API; a grammar enforces schemas anyway. It is named as left out.'],
  },
  models: templateRules,
});

export const nim = server({
  name: 'nim',
  recognisedBy: { hosts: ['integrate.api.nvidia.com'] },
  about:
    'NVIDIA NIM, as a container and at integrate.api.nvidia.com. Most containers run vLLM with the model’s own template.',
  flags: {
    reasoningReplay: ['reasoning_content', 'Its containers use this field name. †'],
    audio: [false, 'Its messages cannot carry audio; without it the model would answer about nothing. †'],
    parallelToolCalls: [false, 'Not in its API; unknown fields are a 422 there. †'],
    strict: [false, 'Not in its API. †'],
  },
  models: templateRules,
});

export const llamaCppPython = server({
  name: 'llama-cpp-python',
  recognisedBy: { not: 'It listens wherever its user chooses, and its list of models names the owner as `me`.' },
  about:
    'The server of llama-cpp-python, as observed in 0.3.36 with `chatml-function-calling`. With logprobs its streams lose characters that are split over tokens, and a prompt that is too long is, in a stream, a 200 without a body.',
  flags: {
    includeUsage: [false, 'Its streams have no usage (observed).'],
    jsonSchema: ['json_object', 'Has no `json_schema` (observed): the schema is described in a system message.'],
    emptyAssistantContent: ['empty', 'Null beside tool calls is a 500 (observed).'],
    audio: noSound,
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [dashscopeChoice, '`required` is a 200 without a body, or a 500 (observed).'],
  },
  models: templateRules,
});
