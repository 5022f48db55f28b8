import { findMembers, type ByteRange as Range } from '../../formats/json/members.ts';
import type { StoredExchange } from './exchange-store.ts';
import { maxMessages, readFields } from './round-trip-links.ts';

const maxSaidLength = 240;
/** The most bytes of a text that are read to find its first words. */
const maxTextBytes = 4096;
const maxCalled = 8;

/**
 * Notes the words by which a person recognises an exchange in the list: the user's last text, the model's first text,
 * and its tool calls. No large text is parsed, since histories are long.
 */
export function noteWords(exchange: StoredExchange): void {
  const { facts, said, called } = exchange;
  const isOver = facts.outcome !== 'running';
  // A request has no words before its body is complete.
  if (said === undefined && exchange.isRequestRecorded)
    Object.assign(exchange, readAsked(exchange.joinBytes('client_request')));
  if (called === undefined && isOver) Object.assign(exchange, readAnswered(exchange.joinBytes('client_response')));
}

/** Finds the user's last text in a Responses request, and what follows it: tool results, or images. */
export function readAsked(bytes: Buffer): Pick<StoredExchange, 'said' | 'given'> {
  const input = readFields(bytes, 0).get('input');
  const items = input === undefined ? null : findMembers(bytes, input.start, maxMessages);
  if (items?.type !== 'list') return { said: joinLines(readTextAt(bytes, input)), given: null };
  const given = new Map<string, number>();
  const count = (what: string) => given.set(what, (given.get(what) ?? 0) + 1);
  let said: string | null = null;
  let isAtEnd = true;
  for (const { start } of items.members.toReversed()) {
    const fields = readFields(bytes, start);
    const type = readTextAt(bytes, fields.get('type'));
    if (isAtEnd && type?.endsWith('_output')) {
      count('tool result');
      continue;
    }
    if (readTextAt(bytes, fields.get('role')) === 'user') {
      const content = fields.get('content');
      said = readText(bytes, content);
      if (isAtEnd && said === null) for (const medium of readMedia(bytes, content)) count(medium);
      if (said !== null) break;
    }
    isAtEnd = false;
  }
  const counted = [...given].map(([what, times]) => `${times} ${what}${times === 1 ? '' : 's'}`);
  return { said, given: counted.length === 0 ? null : counted.join(', ') };
}

/** The media that a message has beside text, by the types of its parts: `image`, `file`. */
function readMedia(bytes: Buffer, content?: Range): readonly string[] {
  return readParts(bytes, content).flatMap((part) => {
    const type = readTextAt(bytes, part.get('type'));
    const [, medium] = /^input_(image|file|audio|video)$/.exec(type ?? '') ?? [];
    return medium ?? [];
  });
}

/** The fields of each part of a message's content; none if the content is no list. */
function readParts(bytes: Buffer, content?: Range): readonly ReturnType<typeof readFields>[] {
  const parts = content === undefined ? null : findMembers(bytes, content.start, maxMessages);
  return parts?.type === 'list' ? parts.members.map(({ start }) => readFields(bytes, start)) : [];
}

/** Returns the model's first text and the tools it calls: of a Response, or of the last event of a stream that has one. */
export function readAnswered(bytes: Buffer): Pick<StoredExchange, 'answered' | 'called'> {
  const last = bytes.lastIndexOf('\ndata: {"type":"response.');
  const top = readFields(bytes, last === -1 ? 0 : last + '\ndata: '.length);
  const response = top.get('response');
  const output = (response === undefined ? top : readFields(bytes, response.start)).get('output');
  const items = output === undefined ? null : findMembers(bytes, output.start, maxMessages);
  const names = new Set<string>();
  let answered: string | null = null;
  for (const { start } of items?.type === 'list' ? items.members : []) {
    const fields = readFields(bytes, start);
    const type = readTextAt(bytes, fields.get('type'));
    if (type === 'message') answered ??= readText(bytes, fields.get('content'));
    if (!type?.endsWith('_call')) continue;
    const name = readTextAt(bytes, fields.get('name'));
    if (names.size < maxCalled) names.add(joinLines(name) ?? joinLines(type.replace(/_call$/, '')) ?? type);
  }
  return { answered, called: [...names] };
}

function readText(bytes: Buffer, content?: Range): string | null {
  const parts = readParts(bytes, content);
  if (parts.length === 0) return joinLines(readTextAt(bytes, content));
  return joinLines(parts.map((part) => readTextAt(bytes, part.get('text')) ?? '').join(' '));
}

/** The text that a member is, or its beginning where it is long; undefined where it is no text. */
function readTextAt(bytes: Buffer, range?: Range): string | undefined {
  if (range === undefined || bytes[range.start] !== quote) return undefined;
  if (range.end - range.start <= maxTextBytes) return parseText(bytes.toString('utf8', range.start, range.end));
  const beginning = bytes.toString('utf8', range.start, range.start + maxTextBytes);
  // An escape that is cut has at most five characters.
  for (let cut = 0; cut <= 5; cut += 1) {
    const text = parseText(`${beginning.slice(0, beginning.length - cut)}"`);
    if (text !== undefined) return text;
  }
  return undefined;
}

function parseText(json: string): string | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const quote = 0x22;

function joinLines(text: string | undefined): string | null {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  return line.length <= maxSaidLength ? line : `${[...line].slice(0, maxSaidLength).join('')}…`;
}
