import { membersOf } from '../../formats/json/members.ts';
import type { StoredExchange } from './exchange-store.ts';
import { fieldsOf, maxMessages } from './turn-links.ts';

/** Characters of the user's or the model's words that are shown. */
const maxSaidLength = 160;
/** Bytes of a message's content that are read for them: images are larger. */
const maxContentBytes = 64 * 1024;
/** Names of tools in a row of the list. */
const maxCalled = 8;

/**
 * Notes in an exchange by what a person recognises it in the list: what the user said, once the request is complete, and what the
 * model said and called, once the answer is. Nothing large is parsed, since histories are long.
 */
export function noteWords(exchange: StoredExchange): void {
  const { facts, heads, said, called } = exchange;
  const isOver = facts.outcome !== 'running';
  if (said === undefined && (isOver || heads.chat_request !== undefined))
    exchange.said = lastSaid(exchange.bytesOf('client_request'));
  if (called === undefined && isOver) Object.assign(exchange, answerIn(exchange.bytesOf('client_response')));
}

/** The user's last text in a Responses request; null where its bytes have none. */
export function lastSaid(bytes: Buffer): string | null {
  const input = fieldsOf(bytes, 0).get('input');
  if (input === undefined) return null;
  const items = membersOf(bytes, input.start, maxMessages);
  if (items?.type !== 'list') return oneLine(jsonAt(bytes, input));
  for (const item of items.members.toReversed()) {
    const fields = fieldsOf(bytes, item.start);
    if (jsonAt(bytes, fields.get('role')) !== 'user') continue;
    const said = textIn(bytes, fields.get('content'));
    if (said !== null) return said;
  }
  return null;
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
    const type = jsonAt(bytes, fields.get('type'));
    if (type === 'message') answered ??= textIn(bytes, fields.get('content'));
    if (typeof type !== 'string' || !type.endsWith('_call')) continue;
    const name = jsonAt(bytes, fields.get('name'));
    names.add(typeof name === 'string' ? name : type.replace(/_call$/, ''));
  }
  return { answered, called: [...names].slice(0, maxCalled) };
}

/** The text of a message's content, which is a text or a list of parts; null where it has no text. */
function textIn(bytes: Buffer, content?: { readonly start: number; readonly end: number }): string | null {
  if (content === undefined) return null;
  const parts = membersOf(bytes, content.start, maxMessages);
  if (parts?.type !== 'list') return oneLine(jsonAt(bytes, content));
  const texts = parts.members.map(({ start }) => jsonAt(bytes, fieldsOf(bytes, start).get('text')));
  return oneLine(texts.filter((text) => typeof text === 'string').join(' '));
}

/** The value of a member; undefined without one, where it is too long, or no JSON. */
function jsonAt(bytes: Buffer, range?: { readonly start: number; readonly end: number }): unknown {
  if (range === undefined || range.end - range.start > maxContentBytes) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8', range.start, range.end));
  } catch {
    return undefined;
  }
}

function oneLine(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  return line.length <= maxSaidLength ? line : `${[...line].slice(0, maxSaidLength).join('')}…`;
}
