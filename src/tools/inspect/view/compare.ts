/** Fields of a Chat request that a field of a Responses request may become; the first that is present counts. */
const becomes: Readonly<Record<string, readonly string[]>> = {
  input: ['messages'],
  instructions: ['messages'],
  prompt: ['messages'],
  max_output_tokens: ['max_completion_tokens', 'max_tokens', 'n_predict'],
  reasoning: ['reasoning_effort', 'chat_template_kwargs', 'thinking', 'reasoning', 'enable_thinking'],
  text: ['response_format', 'verbosity', 'guided_json'],
  top_logprobs: ['logprobs'],
  include: ['logprobs'],
  safety_identifier: ['user'],
  tools: ['tools'],
};

/** Says in one body what a field became in the other: `→ messages`, or that it is not sent. */
export function noteForClient(chat: unknown): (field: string) => string | null {
  return (field) => {
    const there = (becomes[field] ?? []).find((name) => hasField(chat, name));
    return there === undefined ? 'not sent' : `→ ${there}`;
  };
}

/** The same for the Chat request: where a field came from. */
export function noteForChat(client: unknown): (field: string) => string | null {
  return (field) => {
    const sources = Object.entries(becomes)
      .filter(([from, names]) => names.includes(field) && hasField(client, from))
      .map(([from]) => from);
    return sources.length === 0 ? 'added' : `← ${sources.join(', ')}`;
  };
}

function hasField(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

/** A header on either side. */
export interface ComparedHeader {
  readonly name: string;
  readonly client: string | null;
  readonly chat: string | null;
}

type Header = { readonly name: string; readonly value: string };

/** The headers of both sides by name, those that differ first. */
export function compareHeaders(client: readonly Header[], chat: readonly Header[]): ComparedHeader[] {
  const names = [...new Set([...client, ...chat].map(({ name }) => name))];
  const valueIn = (headers: readonly Header[], wanted: string) =>
    headers.find(({ name }) => name === wanted)?.value ?? null;
  return names
    .map((name) => ({ name, client: valueIn(client, name), chat: valueIn(chat, name) }))
    .sort((a, b) => Number(a.client === a.chat) - Number(b.client === b.chat));
}
