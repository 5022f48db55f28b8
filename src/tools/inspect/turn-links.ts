import { setImmediate as turn } from 'node:timers/promises';
import { type Turn, turnOf } from './chat-request-hashes.ts';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';
import { promptFields } from './view/turn-changes.ts';

/** An exchange as a turn of a conversation, as JSON. */
export interface TurnLink {
  readonly id: number;
  /** The exchange that it continues; null for the first turn of a conversation. */
  readonly parent: number | null;
  readonly messages: number;
  /** How many of the parent's messages begin this request too, byte for byte. */
  readonly kept_messages: number;
  /** The first difference from the parent's request: a field, `messages[3]`; null if all of it is kept. */
  readonly differs_at: string | null;
}

/**
 * The exchanges whose Chat requests are known, as turns: one continues the latest whose messages, system
 * messages aside, its own begin with, followed by an answer. Clients do not say which. Works on one exchange after the
 * other, and lets the service work in between; the result is kept with the exchange.
 */
export async function linkTurns(store: ExchangeStore, signal: AbortSignal): Promise<readonly TurnLink[]> {
  const root = newNode();
  const known = new Map<number, Turn>();
  const found: TurnLink[] = [];
  for (const exchange of [...store.list()]) {
    const { request, isNew } = requestOf(exchange);
    if (request !== null) {
      known.set(exchange.id, request);
      const parent = place(root, exchange.id, request);
      found.push(turnFrom(exchange.id, request, parent, parent === null ? undefined : known.get(parent)));
    }
    if (isNew) await turn();
    signal.throwIfAborted();
  }
  return found;
}

/** A common beginning of conversations: its continuations by their next message, and the exchange whose messages end here. */
interface Node {
  readonly next: Map<string, Node>;
  last: number | null;
}

function newNode(): Node {
  return { next: new Map(), last: null };
}

/** Adds a request's messages; returns the exchange that it continues. */
function place(root: Node, id: number, { messages }: Turn): number | null {
  const history = messages.filter(({ role }) => role !== 'system');
  let node = root;
  let parent: number | null = null;
  for (const { hash, role } of history) {
    if (role === 'assistant' && node.last !== null) parent = node.last;
    const next = node.next.get(hash) ?? newNode();
    node.next.set(hash, next);
    node = next;
  }
  if (node !== root) node.last = id;
  return parent;
}

function turnFrom(id: number, request: Turn, parent: number | null, before: Turn | undefined): TurnLink {
  const messages = request.messages.length;
  if (before === undefined) return { id, parent, messages, kept_messages: 0, differs_at: null };
  const different = before.messages.findIndex(({ hash }, index) => hash !== request.messages[index]?.hash);
  const field = promptFields.find((name) => before.fields[name] !== request.fields[name]);
  const kept_messages = different === -1 ? before.messages.length : different;
  const differs_at = field ?? (different === -1 ? null : `messages[${different}]`);
  return { id, parent, messages, kept_messages, differs_at };
}

/** What the exchange sent to the upstream, when that is complete; null if it is not a Chat request. */
function requestOf(exchange: StoredExchange): { readonly request: Turn | null; readonly isNew: boolean } {
  const { pieces, facts, omitted } = exchange;
  if (exchange.turn !== undefined) return { request: exchange.turn, isNew: false };
  const isComplete = facts.outcome !== null || pieces.chat_response.length > 0;
  if (!isComplete || omitted.chat_request > 0) return { request: null, isNew: false };
  const request = turnOf(exchange.bytesOf('chat_request'));
  exchange.keepTurn(request);
  return { request, isNew: true };
}
