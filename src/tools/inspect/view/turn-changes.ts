/** What is new in a turn's Chat request, compared with the turn before. */
export interface TurnChanges {
  /** The first place in which the beginning of the prompt differs; null if all of it is kept. */
  readonly difference: Difference | null;
  /** Messages after those of the turn before. */
  readonly added: readonly AddedMessage[];
  /** Other fields that differ: their values, as JSON. */
  readonly fields: readonly { readonly name: string; readonly before: string; readonly after: string }[];
}

export interface Difference {
  readonly path: string;
  /** The character at which two texts begin to differ; null for other values. */
  readonly character: number | null;
  readonly before: string;
  readonly after: string;
}

interface AddedMessage {
  readonly path: string;
  readonly role: string;
  readonly says: string;
  readonly characters: number;
}

/** Fields that chat templates write before the messages, in the order in which most of them do. */
export const promptFields = ['model', 'tools', 'chat_template_kwargs', 'reasoning_effort'] as const;

type Fields = Readonly<Record<string, unknown>>;

/** Compares the Chat requests of two turns, the earlier one first. */
export function turnChanges(earlier: unknown, later: unknown): TurnChanges {
  const [a, b] = [fieldsOf(earlier), fieldsOf(later)];
  const [old, all] = [messagesOf(a), messagesOf(b)];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => name !== 'messages');
  return {
    difference: firstDifference([...promptFields.map((name) => [name, a[name], b[name]] as const), ...pairs(old, all)]),
    added: all.slice(old.length).map((message, index) => summaryOf(message, `messages[${old.length + index}]`)),
    fields: names
      .filter((name) => textOf(a[name]) !== textOf(b[name]))
      .map((name) => ({ name, before: excerpt(textOf(a[name]), 0), after: excerpt(textOf(b[name]), 0) })),
  };
}

function* pairs(old: readonly unknown[], all: readonly unknown[]): Generator<readonly [string, unknown, unknown]> {
  for (const [index, message] of old.entries()) yield [`messages[${index}]`, message, all[index]];
}

function firstDifference(values: Iterable<readonly [string, unknown, unknown]>): Difference | null {
  for (const [path, a, b] of values) {
    const found = differenceIn(path, a, b);
    if (found !== null) return found;
  }
  return null;
}

/** In the order in which the values are written. */
function differenceIn(path: string, a: unknown, b: unknown): Difference | null {
  if (textOf(a) === textOf(b)) return null;
  if (typeof a === 'string' && typeof b === 'string') {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at += 1;
    return { path, character: at, before: excerpt(a, at), after: excerpt(b, at) };
  }
  if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null) {
    const isList = Array.isArray(a) && Array.isArray(b);
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    for (const key of keys) {
      const inner = isList ? `${path}[${key}]` : `${path}.${key}`;
      const found = differenceIn(inner, (a as Fields)[key], (b as Fields)[key]);
      if (found !== null) return found;
    }
  }
  return { path, character: null, before: excerpt(textOf(a), 0), after: excerpt(textOf(b), 0) };
}

const shownLength = 90;

/** The text around that character. */
function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - 20);
  const part = text.slice(from, from + shownLength);
  return `${from > 0 ? '…' : ''}${part}${from + shownLength < text.length ? '…' : ''}`;
}

function summaryOf(message: unknown, path: string): AddedMessage {
  const { role, content, tool_calls: calls } = fieldsOf(message);
  const parts = Array.isArray(content) ? content : [{ text: content }];
  const texts = parts.map((part) => fieldsOf(part)).map(({ text, type }) => (typeof text === 'string' ? text : type));
  const called = (Array.isArray(calls) ? calls : []).map((call) => {
    const { name, arguments: given } = fieldsOf(fieldsOf(call)['function']);
    return `${name}(${given})`;
  });
  const says = [...texts, ...called].filter((text) => typeof text === 'string' && text !== '').join(' ');
  return { path, role: String(role), says: excerpt(says, 0), characters: textOf(message).length };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function messagesOf(fields: Fields): readonly unknown[] {
  const { messages } = fields;
  return Array.isArray(messages) ? messages : [];
}

/** As JSON; a missing value as an empty text. */
function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}
