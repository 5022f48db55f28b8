/**
 * What chat templates check, written by hand: each guard throws what the template's `raise_exception` (or Jinja itself) would, for the
 * messages as a client sends them: vLLM, SGLang and llama.cpp replace null content with an empty text before they call
 * the template, others do not. Each was compared with the template or code named with it; nothing here knows
 * how requests are translated.
 */

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly type: string;
    readonly function?: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

export interface TemplateGuard {
  /** The template, and its source. */
  readonly source: string;
  /** A model with that template, as clients name it. */
  readonly model: string;
  /** The profile of the vendor’s own API, which checks the same. */
  readonly api?: string;
  /** The template does not support calls and their outputs: conversations with any are not sent to this model. */
  readonly withoutTools?: boolean;
  /** Throws for messages that the template refuses, in a request that offers tools or (by default) none. */
  check(messages: readonly Message[], hasTools?: boolean): void;
}

/** What the check throws, or null: an assertion for each of ten thousand requests took longer than their checks. */
export function refusalOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    return String(thrown);
  }
}

export const templateGuards: readonly TemplateGuard[] = [
  {
    source:
      'mistralai/Mistral-Nemo-Instruct-2407 tokenizer_config.json; with ids of nine or more characters ggml-org/llama.cpp models/templates/mistralai-Mistral-Small-3.1-24B-Instruct-2503.jinja',
    model: 'open-mistral-nemo-2407',
    check(messages) {
      const rest = withoutLeadingSystem(messages);
      alternating(
        rest.filter(({ role, tool_calls }) => role !== 'tool' && role !== 'tool_results' && tool_calls === undefined),
        'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
      );
      for (const { role, tool_calls = [], tool_call_id } of rest) {
        if (!['user', 'assistant', 'tool', 'tool_results'].includes(role))
          raise(
            'Only user and assistant roles are supported, with the exception of an initial optional system message!',
          );
        const ids = [...tool_calls.map(({ id }) => id), ...(role === 'tool' ? [tool_call_id] : [])];
        if (ids.some((id) => id?.length !== 9)) raise('Tool call IDs should be alphanumeric strings with length 9!');
      }
    },
  },
  {
    source:
      'mistralai/mistral-common src/mistral_common/integrations/chat_templates/template_generator.py, which makes those of Devstral 2 and Ministral 3',
    model: 'Devstral-2-123B-Instruct-2512',
    check(messages) {
      const rest = withoutLeadingSystem(messages);
      alternating(
        rest.filter(
          ({ role, tool_calls = [] }) => role === 'user' || (role === 'assistant' && tool_calls.length === 0),
        ),
        'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
      );
      for (const { role, content, tool_calls = [] } of rest) {
        if (!['user', 'assistant', 'tool'].includes(role))
          raise(`Only user, assistant and tool roles are supported, got ${role}.`);
        if (role === 'assistant' && isBlank(content) && tool_calls.length === 0)
          raise('Assistant message must have a string or a list of chunks in content or a list of tool calls.');
        // `message['content'] | length`
        if (role === 'assistant' && content == null) raise("object of type 'NoneType' has no len()");
        if (role === 'user' && isBlank(content) && typeof content !== 'string')
          raise('User message must have a string or a list of chunks in content');
      }
    },
  },
  {
    source:
      'mistralai/mistral-common src/mistral_common/protocol/instruct/validator.py, V13; vLLM marks a last assistant message as a prefix before it is asked',
    model: 'mistralai/Mistral-Small-3.2-24B-Instruct-2506',
    api: 'mistral',
    check(messages) {
      const after: Readonly<Record<string, readonly string[]>> = {
        system: ['user', 'assistant', 'system'],
        user: ['assistant', 'system', 'user'],
        assistant: ['assistant', 'user', 'tool'],
        tool: ['assistant', 'tool'],
      };
      const [first] = messages;
      if (messages.length === 1 && !['user', 'system'].includes(first?.role ?? ''))
        raise('Conversation must start with a user message or system message');
      messages.forEach(({ role }, index) => {
        const previous = messages[index - 1]?.role;
        if (previous !== undefined && !(after[previous] ?? []).includes(role))
          raise(`Unexpected role '${role}' after role '${previous}'`);
      });
      pairedCalls(messages);
      const names = messages.flatMap(({ name, tool_calls = [] }) => [
        name,
        ...tool_calls.map((call) => call.function?.name),
      ]);
      for (const name of names)
        if (name !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
          raise(`Function name was ${name} but must be a-z, A-Z, 0-9, or contain underscores and dashes`);
      const ids = messages.flatMap(({ tool_call_id, tool_calls = [] }) => [
        tool_call_id,
        ...tool_calls.map(({ id }) => id),
      ]);
      for (const id of ids)
        if (id !== undefined && !/^[a-zA-Z0-9]{9}$/.test(id))
          raise(`Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`);
    },
  },
  {
    source: 'google/gemma-3-27b-it chat_template.json, as repeated in many public repositories',
    model: 'google/gemma-3-27b-it',
    withoutTools: true,
    check(messages) {
      const rest = withoutLeadingSystem(messages);
      alternating(rest, 'Conversation roles must alternate user/assistant/user/assistant/...');
      if (rest.some(({ content }) => content == null)) raise('Invalid content type');
    },
  },
  {
    source: 'vllm-project/vllm examples/tool_chat_template_gemma3_pythonic.jinja',
    model: 'gemma-3-12b-it-with-tools',
    check(messages) {
      const rest = withoutLeadingSystem(messages);
      alternating(
        rest.filter(({ role, tool_calls }) => role !== 'tool' && tool_calls === undefined),
        'Conversation roles must alternate user/assistant/user/assistant/...',
      );
      if (rest.some(({ content }) => content == null)) raise('Invalid content type');
    },
  },
  {
    source: 'Qwen/Qwen3-32B tokenizer_config.json; arguments as servers give them to the template',
    model: 'Qwen/Qwen3-32B',
    check(messages) {
      for (const { content, role } of messages)
        if (role === 'tool' && typeof content !== 'string') raise('can only concatenate str to str');
      argumentsAreObjects(messages);
    },
  },
  {
    source: 'Qwen/Qwen3.5 chat_template.jinja, as quoted and rebuilt in several public repositories',
    model: 'Qwen/Qwen3.5-122B-A10B',
    check(messages) {
      if (messages.length === 0) raise('No messages provided.');
      const isQuery = ({ role, content }: Message) =>
        role === 'user' &&
        !(typeof content === 'string' && /^<tool_response>.*<\/tool_response>$/s.test(content.trim()));
      if (!messages.some(isQuery)) raise('No user query found in messages.');
      messages.forEach(({ role, content }, index) => {
        if (!['system', 'developer', 'user', 'assistant', 'tool'].includes(role)) raise('Unexpected message role.');
        if (role !== 'system') return;
        if (index > 0) raise('System message must be at the beginning.');
        if (Array.isArray(content) && content.some((part: { type: string }) => part.type !== 'text'))
          raise('System message cannot contain images.');
      });
      argumentsAreObjects(messages);
    },
  },
  {
    source: 'vllm-project/vllm examples/tool_chat_template_llama3.1_json.jinja (as meta-llama/Llama-3.3-70B-Instruct)',
    model: 'meta-llama/Llama-3.3-70B-Instruct',
    check(messages, hasTools) {
      const [, ...afterFirst] = withoutLeadingSystem(messages);
      const [first] = withoutLeadingSystem(messages);
      if (hasTools && first === undefined)
        raise("Cannot put tools in the first user message when there's no first user message!");
      if (hasTools && first?.content == null) raise("'NoneType' object is not iterable");
      for (const { content, role, tool_calls } of afterFirst)
        if (content == null && role !== 'tool' && tool_calls === undefined) raise("'NoneType' object is not iterable");
      for (const { tool_calls } of messages)
        if (tool_calls !== undefined && tool_calls.length !== 1)
          raise('This model only supports single tool-calls at once!');
      argumentsAreObjects(messages);
    },
  },
  {
    source: 'ggml-org/llama.cpp models/templates/deepseek-ai-DeepSeek-V3.1.jinja',
    model: 'deepseek-ai/DeepSeek-V3.1',
    api: 'deepseek',
    check(messages) {
      for (const { role, content, tool_calls } of messages) {
        // It does not raise an error itself: Jinja does, for `'<｜User｜>' + message['content']` and the like.
        if (typeof content !== 'string' && !(role === 'assistant' && tool_calls !== undefined) && !hasMedia(content))
          raise(`can only concatenate str to the content of ${role}`);
      }
    },
  },
  {
    source: 'openai/gpt-oss-120b chat_template.jinja, as embedded in several public repositories',
    model: 'openai/gpt-oss-120b',
    check(messages) {
      let hasCall = false;
      for (const { role, content, tool_calls = [] } of messages) {
        if (role === 'assistant') hasCall = tool_calls.length > 0;
        // `"<|channel|>analysis<|message|>" in message.content`
        if (role === 'assistant' && content == null) raise("argument of type 'NoneType' is not iterable");
        if (
          role === 'assistant' &&
          typeof content === 'string' &&
          /<\|channel\|>(?:analysis|final)<\|message\|>/.test(content)
        )
          raise('You have passed a message containing <|channel|> tags in the content field.');
        if (role === 'tool' && !hasCall)
          raise('Message has tool role, but there was no previous assistant message with a tool call!');
      }
      argumentsAreObjects(messages);
    },
  },
];

function raise(message: string): never {
  throw new Error(message);
}

function withoutLeadingSystem(messages: readonly Message[]): readonly Message[] {
  return messages[0]?.role === 'system' ? messages.slice(1) : messages;
}

/** `(message.role == "user") != (loop.index0 % 2 == 0)` */
function alternating(messages: readonly Message[], complaint: string): void {
  messages.forEach(({ role }, index) => {
    if ((role === 'user') !== (index % 2 === 0)) raise(complaint);
  });
}

/** Each call has its tool message directly after it. */
function pairedCalls(messages: readonly Message[]): void {
  messages.forEach(({ tool_calls = [] }, index) => {
    const answers = messages.slice(index + 1, index + 1 + tool_calls.length).filter(({ role }) => role === 'tool');
    if (answers.length !== tool_calls.length) raise('Not the same number of function calls and responses');
  });
}

/** `{%- for name, value in tool_call.arguments | items %}`, of what the server has parsed. */
function argumentsAreObjects(messages: readonly Message[]): void {
  for (const { tool_calls = [] } of messages) {
    for (const call of tool_calls) {
      const value: unknown = JSON.parse(call.function?.arguments ?? '{}');
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        raise('Can only get item pairs from a mapping.');
    }
  }
}

function isBlank(content: unknown): boolean {
  return content == null || content === '' || (Array.isArray(content) && content.length === 0);
}

/** Servers join text parts into one text; this template's model gets no other kinds of parts. */
function hasMedia(content: unknown): boolean {
  return Array.isArray(content);
}
