import { membersOf, type ByteRange as Range } from '../../formats/json/members.ts';
import type { StoredExchange } from './exchange-store.ts';
import { fieldsOf, maxMessages } from './turn-links.ts';

/** The most characters of the user's or the model's words that a row shows. */
const maxSaidLength = 240;
/** The most bytes of a text that are read to find its first words. */
const maxTextBytes = 4096;
/** The most tool names that a row shows. */
const maxCalled = 8;

/**
 * Notes the words by which a person recognises an exchange in the list: the user's last text, the model's first text,
 * and its tool calls. No large text is parsed, since histories are long.
 */
export function noteWords(exchange: StoredExchange): void {
  const { facts, said, called } = exchange;
  const isOver = facts.outcome !== 'running';
  // A request without a body has no words yet: the head of what is sent may come long before it.
  if (said === undefined && exchange.isRequestRecorded)
    Object.assign(exchange, askedIn(exchange.bytesOf('client_request')));
  if (called === undefined && isOver) Object.assign(exchange, answerIn(exchange.bytesOf('client_response')));
}

/** Finds the user's last text in a Responses request, and what follows it: tool results, or images. */
export function askedIn(bytes: Buffer): Pick<StoredExchange, 'said' | 'given'> {
  const input = fieldsOf(bytes, 0).get('input');
  const items = input === undefined ? null : membersOf(bytes, input.start, maxMessages);
  if (items?.type !== 'list') return { said: oneLine(textAt(bytes, input)), given: null };
  const given = new Map<string, number>();
  const count = (what: string) => given.set(what, (given.get(what) ?? 0) + 1);
  let said: string | null = null;
  let isAtEnd = true;
  for (const { start } of items.members.toReversed()) {
    const fields = fieldsOf(bytes, start);
    const type = textAt(bytes, fields.get('type'));
    if (isAtEnd && type?.endsWith('_output')) {
      count('tool result');
      continue;
    }
    if (textAt(bytes, fields.get('role')) === 'user') {
      const content = fields.get('content');
      said = textIn(bytes, content);
      if (isAtEnd && said === null) for (const medium of mediaIn(bytes, content)) count(medium);
      if (said !== null) break;
    }
    isAtEnd = false;
  }
  const counted = [...given].map(([what, times]) => `${times} ${what}${times === 1 ? '' : 's'}`);
  return { said, given: counted.length === 0 ? null : counted.join(', ') };
}

/** The media that a message has beside text, by the types of its parts: `image`, `file`. */
function mediaIn(bytes: Buffer, content?: Range): readonly string[] {
  return partsIn(bytes, content).flatMap((part) => {
    const type = textAt(bytes, part.get('type'));
    const [, medium] = /^input_(image|file|audio|video)$/.exec(type ?? '') ?? [];
    return medium ?? [];
  });
}

/** The fields of each part of a message's content; none if the content is no list. */
function partsIn(bytes: Buffer, content?: Range): readonly ReturnType<typeof fieldsOf>[] {
  const parts = content === undefined ? null : membersOf(bytes, content.start, maxMessages);
  return parts?.type === 'list' ? parts.members.map(({ start }) => fieldsOf(bytes, start)) : [];
}

/** Returns the model's first text and the tools it calls: of a Response, or of the last event of a stream that has one. */
export function answerIn(bytes: Buffer): Pick<StoredExchange, 'answered' | 'called'> {
  const last = bytes.lastIndexOf('\ndata: {"type":"response.');
  const top = fieldsOf(bytes, last === -1 ? 0 : last + '\ndata: '.length);
  const response = top.get('response');
  const output = (response === undefined ? top : fieldsOf(bytes, response.start)).get('output');
  const items = output === undefined ? null : membersOf(bytes, output.start, maxMessages);
  const names = new Set<string>();
  let answered: string | null = null;
  for (const { start } of items?.type === 'list' ? items.members : []) {
    const fields = fieldsOf(bytes, start);
    const type = textAt(bytes, fields.get('type'));
    if (type === 'message') answered ??= textIn(bytes, fields.get('content'));
    if (!type?.endsWith('_call')) continue;
    const name = textAt(bytes, fields.get('name'));
    if (names.size < maxCalled) names.add(oneLine(name) ?? oneLine(type.replace(/_call$/, '')) ?? type);
  }
  return { answered, called: [...names] };
}

/** The text of a message's content, which is a text or a list of parts; null where it has no text. */
function textIn(bytes: Buffer, content?: Range): string | null {
  const parts = partsIn(bytes, content);
  if (parts.length === 0) return oneLine(textAt(bytes, content));
  return oneLine(parts.map((part) => textAt(bytes, part.get('text')) ?? '').join(' '));
}

/** The text that a member is, or its beginning where it is long; undefined where it is no text. */
function textAt(bytes: Buffer, range?: Range): string | undefined {
  if (range === undefined || bytes[range.start] !== quote) return undefined;
  if (range.end - range.start <= maxTextBytes) return parsedText(bytes.toString('utf8', range.start, range.end));
  const beginning = bytes.toString('utf8', range.start, range.start + maxTextBytes);
  // An escape that is cut has at most five characters.
  for (let cut = 0; cut <= 5; cut += 1) {
    const text = parsedText(`${beginning.slice(0, beginning.length - cut)}"`);
    if (text !== undefined) return text;
  }
  return undefined;
}

function parsedText(json: string): string | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const quote = 0x22;

function oneLine(text: string | undefined): string | null {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  return line.length <= maxSaidLength ? line : `${[...line].slice(0, maxSaidLength).join('')}…`;
}
