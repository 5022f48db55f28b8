/** A JSON text of fewer characters is not folded, since unfolding it takes longer than reading it. */
const shortText = 300;

/** The folds and the scroll position that a pane starts with. */
export interface Opening {
  /** The paths of what every request of a conversation repeats: tools, instructions, and messages that carry them. */
  readonly folded: readonly string[];
  /** The path of the user's last message; null without one. */
  readonly last: string | null;
}

/** Returns which parts of a request's body, of Responses or Chat, are folded at first, and what is scrolled to. */
export function chooseOpening(body: unknown): Opening {
  const { tools, instructions, input, messages } = (typeof body === 'object' ? (body as Json | null) : null) ?? {};
  const name = Array.isArray(messages) ? 'messages' : 'input';
  const items: readonly (Json | null)[] = [messages, input].find(Array.isArray) ?? [];
  const hidden = items.flatMap((item, index) =>
    prompting.has(item?.role) && isLong(item?.content) ? [`${name}[${index}].content`] : [],
  );
  const last = items.findLastIndex((item) => item?.role === 'user');
  return {
    folded: [...(isLong(tools) ? ['tools'] : []), ...(isLong(instructions) ? ['instructions'] : []), ...hidden],
    last: last === -1 ? (typeof input === 'string' ? 'input' : null) : `${name}[${last}]`,
  };
}

/** The fields of a request or an item that decide about folds. */
type Json = Readonly<Partial<Record<'tools' | 'instructions' | 'input' | 'messages' | 'role' | 'content', unknown>>>;

/** The roles of messages that are the same in every request of a conversation. */
const prompting: ReadonlySet<unknown> = new Set(['system', 'developer']);

function isLong(value: unknown): boolean {
  return (JSON.stringify(value) ?? '').length > shortText;
}
