/**
 * What chat templates check, by hand: each guard throws what the template's `raise_exception` (or Jinja itself) would, for the
 * messages as a server gives them to the template. Written from the templates on Hugging Face named with each; nothing here
 * knows how requests are translated.
 */

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly type: string;
    readonly function?: { readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface TemplateGuard {
  /** The template, and where it is from. */
  readonly source: string;
  /** A model with that template, as clients name it. */
  readonly model: string;
  /** The template has no place for calls and their outputs at all: conversations with some are not for this model. */
  readonly withoutTools?: boolean;
  /** Throws for messages that the template refuses. */
  check(messages: readonly Message[]): void;
}

export const templateGuards: readonly TemplateGuard[] = [
  {
    source: 'mistralai/Mistral-Nemo-Instruct-2407 tokenizer_config.json (as Mistral-7B-Instruct-v0.3)',
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
    source: 'mistralai/Devstral-2-123B-Instruct-2512 chat_template.jinja (as Ministral-3)',
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
      }
    },
  },
  {
    source: 'vLLM mistral tokenizer mode: mistral_common/protocol/instruct/validator.py (V3 and later)',
    model: 'mistralai/Mistral-Small-3.2-24B-Instruct-2506',
    check(messages) {
      const after: Readonly<Record<string, readonly string[]>> = {
        system: ['user', 'assistant', 'system'],
        user: ['assistant', 'system', 'user'],
        assistant: ['assistant', 'user', 'tool'],
        tool: ['assistant', 'tool'],
      };
      messages.forEach(({ role }, index) => {
        const previous = messages[index - 1]?.role;
        if (previous === undefined ? !['system', 'user'].includes(role) : !(after[previous] ?? []).includes(role))
          raise(`Unexpected role '${role}' after role '${previous}'`);
        if (role === 'system' && index > 0) raise(`Unexpected role 'system' after role '${previous}'`);
      });
      pairedCalls(messages);
    },
  },
  {
    source: 'google/gemma-3-27b-it chat_template.json',
    model: 'google/gemma-3-27b-it',
    withoutTools: true,
    check(messages) {
      alternating(
        withoutLeadingSystem(messages),
        'Conversation roles must alternate user/assistant/user/assistant/...',
      );
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
    source: 'Qwen/Qwen3.5 chat_template.jinja',
    model: 'Qwen/Qwen3.5-122B-A10B',
    check(messages) {
      if (messages.length === 0) raise('No messages provided.');
      if (!messages.some(({ role }) => role === 'user')) raise('No user query found in messages.');
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
    source: 'meta-llama/Llama-3.3-70B-Instruct tokenizer_config.json (as vLLM tool_chat_template_llama3.1_json.jinja)',
    model: 'meta-llama/Llama-3.3-70B-Instruct',
    check(messages) {
      for (const { tool_calls } of messages)
        if (tool_calls !== undefined && tool_calls.length !== 1)
          raise('This model only supports single tool-calls at once!');
      argumentsAreObjects(messages);
    },
  },
  {
    source: 'deepseek-ai/DeepSeek-V3.1 chat_template.jinja',
    model: 'deepseek-ai/DeepSeek-V3.1',
    check(messages) {
      for (const { role, content, tool_calls } of messages) {
        // It raises nothing itself: Jinja does, for `'<｜User｜>' + message['content']` and the like.
        if (typeof content !== 'string' && !(role === 'assistant' && tool_calls !== undefined) && !hasMedia(content))
          raise(`can only concatenate str to the content of ${role}`);
      }
    },
  },
  {
    source: 'openai/gpt-oss-120b chat_template.jinja',
    model: 'openai/gpt-oss-120b',
    check(messages) {
      let hasCall = false;
      for (const { role, tool_calls = [] } of messages) {
        if (role === 'assistant') hasCall = tool_calls.length > 0 || hasCall;
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

/** Servers make one text of text parts; parts of other kinds are not for this template's model. */
function hasMedia(content: unknown): boolean {
  return Array.isArray(content);
}
