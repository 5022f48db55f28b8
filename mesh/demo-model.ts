/**
 * The embedded upstream's model: deterministic answers to Chat Completions requests, so that agents and SDKs can be tried
 * without a real model:
 *
 * - `response_format` with a JSON schema: an object that satisfies it (types, enum, const, required, nesting, arrays).
 * - `tools`, and the last message is the user's: calls the first tool whose name shares a word with the message (with
 *   `tool_choice` required or named, always), once per capitalised name after its first word (“… in Paris and Rome” makes
 *   two parallel calls; one with `parallel_tool_calls: false`).
 * - the last message is a tool's: says what the tools returned.
 * - images: says how many it received.
 * - anything else: repeats what was said.
 *
 * By model: `demo`; `demo-reasoning` thinks first; `demo-slow` takes 0.3 s a word; `demo-error-429` (any status from
 * 400 to 599) fails.
 */
export interface DemoAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

export const demoModels = ['demo', 'demo-reasoning', 'demo-slow'] as const;

export interface DemoRequest {
  readonly model: string;
  readonly messages: readonly DemoMessage[];
  readonly tools?: readonly { readonly function?: { readonly name: string; readonly parameters?: unknown } }[];
  readonly tool_choice?: unknown;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema?: unknown } };
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}
interface DemoMessage {
  readonly role: string;
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[] | null;
}

export function answerDemo(request: DemoRequest): DemoAnswer {
  const last = request.messages.at(-1);
  const said = readMessageText(last);
  const reasoning = request.model === 'demo-reasoning' ? `The user said ${countWords(said)} words. I repeat them.` : '';
  const tool = last?.role === 'user' ? chooseTool(request, said) : undefined;
  if (tool !== undefined) {
    const subjects = readNames(said).slice(0, request.parallel_tool_calls === false ? 1 : 4);
    const calls = (subjects.length === 0 ? ['example'] : subjects).map((subject, index) => ({
      id: `call_demo_${request.messages.length}_${index + 1}`,
      name: tool.name,
      arguments: JSON.stringify(buildExample(tool.parameters, subject)),
    }));
    return { reasoning, text: '', calls };
  }
  return { reasoning, text: buildTextAnswer(request, said), calls: [] };
}

/** Counts words, which stand in for tokens in the usage figures. */
export function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

export function readMessageText(message: DemoMessage | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((part) => part.text ?? '').join(' ');
}

function buildTextAnswer(request: DemoRequest, said: string): string {
  if (request.response_format?.type === 'json_schema')
    return JSON.stringify(buildExample(request.response_format.json_schema?.schema, 'example'));
  if (request.response_format?.type === 'json_object') return JSON.stringify({ said });
  const results = readTrailingToolResults(request.messages);
  if (results.length > 0) return `The tools returned: ${results.join(' | ')}`;
  const images = request.messages.flatMap((message) =>
    Array.isArray(message.content) ? message.content.filter((part) => part.type === 'image_url') : [],
  ).length;
  const seen = images === 0 ? '' : ` I was shown ${images} image${images === 1 ? '' : 's'}.`;
  return `You said: ${said}${seen}`;
}

function readTrailingToolResults(messages: readonly DemoMessage[]): string[] {
  const lastOther = messages.findLastIndex((message) => message.role !== 'tool');
  return messages.slice(lastOther + 1).map(readMessageText);
}

function chooseTool(request: DemoRequest, said: string): { name: string; parameters?: unknown } | undefined {
  const functions = (request.tools ?? []).flatMap((tool) => (tool.function === undefined ? [] : [tool.function]));
  const choice = request.tool_choice;
  if (choice === 'none') return undefined;
  if (typeof choice === 'object' && choice !== null && 'function' in choice) {
    const named = choice.function as { name?: unknown } | null;
    return functions.find(({ name }) => name === named?.name);
  }
  const spoken = new Set(said.toLowerCase().split(/[^\p{L}\d]+/u));
  const meant = functions.find(({ name }) =>
    name
      .toLowerCase()
      .split(/[^\p{L}\d]+/u)
      .some((word) => word.length > 3 && spoken.has(word)),
  );
  return meant ?? (choice === 'required' || choice === 'any' ? functions[0] : undefined);
}

function readNames(said: string): string[] {
  return said.match(/(?<=\S\s+)\p{Lu}\p{L}+/gu) ?? [];
}

/** A value that a JSON schema of the usual kind accepts; `text` is used for every free string. */
function buildExample(schema: unknown, text: string): unknown {
  if (typeof schema !== 'object' || schema === null) return text;
  const { type, properties, items, anyOf, $ref, minimum } = schema as Record<string, unknown>;
  if ('const' in schema) return schema.const;
  if ('enum' in schema && Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return buildExample(anyOf[0], text);
  if (typeof $ref === 'string') return {};
  switch (Array.isArray(type) ? type[0] : (type ?? (properties === undefined ? 'string' : 'object'))) {
    case 'object':
      return Object.fromEntries(
        Object.entries((properties ?? {}) as object).map(([name, value]) => [name, buildExample(value, text)]),
      );
    case 'array':
      return [buildExample(items, text)];
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? minimum : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return text;
  }
}
