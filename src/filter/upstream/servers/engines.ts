import { templateRules } from '../chat-templates.ts';
import type { ProfileFlags } from '../profile.ts';
import {
  type BuiltInProfile,
  dashscopeChoice,
  ignoredChoice,
  modeChoice,
  newerLimit,
  noNull,
  noSound,
  readsReasoningContent,
  type ServerRow,
  server,
} from './generic.ts';

/** Engines that people run themselves. */

/** An engine runs the template of the model. */
function engine(row: Omit<ServerRow, 'models'>): BuiltInProfile {
  return server({ ...row, models: templateRules });
}

/** In these engines the grammar of a schema governs the answer from its first token on, so that no call can begin. */
function oneGrammar(source: string): readonly [ProfileFlags['jsonSchema'], string] {
  return ['native_without_tools', `Beside a schema the model can call no tool (${source}).`];
}

export const vllm = engine({
  name: 'vllm',
  recognisedBy: { engine: { ownedBy: 'vllm', path: '/metrics' } },
  about:
    'vLLM’s OpenAI-compatible server. As observed in vLLM 0.32; vLLM 0.33 was not run. It enforces a function’s schema only if the function is `strict`. A call that its parser cannot read is text in a JSON answer and missing from a stream.',
  flags: {
    maxTokensField: newerLimit,
    reasoningReplay: ['both', 'The field was renamed (vllm#27752); the name that it does not know is ignored.'],
    customTools: [
      'wrapped_strict',
      'It refuses custom tools, and gave a function that was not strict a bare string for arguments (observed).',
    ],
    jsonSchema: oneGrammar('observed; vllm#39929, #16313'),
    video: [true, 'Takes `video_url` parts.'],
    prefixCache: [true, 'On unless the server is started without it (observed).'],
    tokenizePath: ['/tokenize', 'Applies the model’s template to a chat request.'],
  },
});

export const sglang = engine({
  name: 'sglang',
  recognisedBy: { engine: { ownedBy: 'sglang', path: null } },
  about: 'SGLang’s OpenAI-compatible server.',
  flags: {
    maxTokensField: newerLimit,
    reasoningReplay: readsReasoningContent,
    jsonSchema: oneGrammar('sglang#25789'),
    video: [true, 'Takes `video_url` parts.'],
    prefixCache: [true, 'On unless the server is started without it. †'],
  },
});

export const llamaCpp = engine({
  name: 'llama.cpp',
  recognisedBy: { engine: { ownedBy: 'llamacpp', path: '/props' } },
  about:
    'The HTTP server of llama.cpp. `parallel_tool_calls: false` has no effect (observed). It closes idle connections after five seconds: set the cluster’s `idle_timeout` below that.',
  flags: {
    reasoningReplay: readsReasoningContent,
    emptyAssistantContent: noNull,
    jsonSchema: oneGrammar('observed, also with `tool_choice: "required"`'),
    toolChoice: [modeChoice, 'Only `auto`, `none` and `required`.'],
    prefixCache: [true, 'A slot keeps its last prompt (observed).'],
    tokenizePath: ['/v1/chat/completions/input_tokens', 'Applies the model’s template to a chat request.'],
  },
});

export const ollama = engine({
  name: 'ollama',
  recognisedBy: { engine: { ownedBy: null, path: '/api/version' } },
  about: 'Ollama. It silently cuts long prompts to its context window: raise `num_ctx` on the server.',
  flags: {
    effortRules: [
      [{ models: /./, efforts: { minimal: 'low', xhigh: 'high' } }],
      'It refuses these; older versions `max` too.',
    ],
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: noNull,
    audio: noSound,
    jsonSchema: oneGrammar('ollama#8095, #11037'),
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [ignoredChoice, 'It does not read the field.'],
    toolSchemaRoot: [
      'plain_object',
      '“cannot unmarshal array into Go struct field ToolFunctionParameters…type of type string”; a union is dropped with all properties in it (observed: its types of v0.17.4).',
    ],
  },
});

export const lmstudio = engine({
  name: 'lmstudio',
  recognisedBy: { engine: { ownedBy: 'organization_owner', path: null } },
  about: 'LM Studio’s local server.',
  flags: {
    reasoningReplay: ['reasoning', 'Reads earlier reasoning from this field.'],
    emptyAssistantContent: ['empty', 'Null is a 400 (lmstudio-bug-tracker#261).'],
    audio: noSound,
    jsonSchema: [
      'native_schema',
      "“'response_format.type' must be 'json_schema' or 'text'” (lmstudio-bug-tracker#189). Beside a schema its engines, llama.cpp and MLX with Outlines, can call no tool †.",
    ],
    toolChoice: [modeChoice, 'Only `auto`, `none` and `required`. †'],
  },
});

export const tgi = engine({
  name: 'tgi',
  recognisedBy: {
    not: 'Its list of models names no engine.',
  },
  about: 'Hugging Face TGI and its router.',
  flags: {
    emptyAssistantContent: noNull,
    audio: noSound,
    jsonSchema: ['native_without_tools', 'Tools and a schema exclude each other (text-generation-inference#2046).'],
    strict: [false, 'Not in its API; a grammar enforces schemas anyway.'],
  },
});

export const nim = engine({
  name: 'nim',
  recognisedBy: { hosts: ['integrate.api.nvidia.com'] },
  about: 'NVIDIA NIM, as a container and hosted.',
  flags: {
    user: [false, 'Fields that a model’s API does not have are a 422 (garak#748).'],
    reasoningReplay: ['reasoning_content', 'Reads earlier reasoning from this field. †'],
    audio: [false, 'Its messages cannot carry audio. †'],
    parallelToolCalls: [false, 'Not in its API. †'],
    strict: [false, 'Not in its API. †'],
  },
});

export const llamaCppPython = engine({
  name: 'llama-cpp-python',
  recognisedBy: { not: 'Its list of models names no engine (`me`).' },
  about:
    'The server of llama-cpp-python, as observed in 0.3.36 with `chatml-function-calling`. With logprobs its streams lose characters that are split over tokens; a prompt that is too long is, in a stream, a 200 without a body.',
  flags: {
    includeUsage: [false, 'Its streams have no usage (observed).'],
    jsonSchema: ['json_object', 'Guarantees JSON but not a schema: the schema is described in a system message.'],
    emptyAssistantContent: ['empty', 'Null beside tool calls is a 500 (observed).'],
    audio: noSound,
    strict: [false, 'Not in its API.'],
    parallelToolCalls: [false, 'Not in its API.'],
    toolChoice: [dashscopeChoice, '`required` is a 200 without a body, or a 500 (observed).'],
  },
});

export const mlxLm = engine({
  name: 'mlx-lm',
  // The fingerprint has the versions of mlx-lm and MLX, and the platform.
  recognisedBy: { engine: { ownedBy: null, path: null, fingerprint: /^[0-9.]+-[0-9.]+-(?:macOS|Darwin|Linux)-/ } },
  about:
    "The server of mlx-lm. Versions before August 2026 give GLM’s tool names with a line feed behind them, which is taken off. It takes no images (“Only 'text' content type is supported.”): set `image: omit`, as `doctor` proposes.",
  flags: {
    jsonSchema: ['prompt', 'It does not read `response_format` (mlx-lm#1007).'],
    audio: noSound,
    strict: [false, 'Not in its API. †'],
    parallelToolCalls: [false, 'Not in its API. †'],
    toolChoice: [ignoredChoice, 'It does not read the field. †'],
    user: [false, 'Its server does not read the field (`mlx_lm/server.py`).'],
    prefixCache: [true, 'It keeps prompts (`LRUPromptCache`).'],
  },
});
