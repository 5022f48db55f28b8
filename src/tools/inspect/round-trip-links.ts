import { hash } from 'node:crypto';
import { type ByteRange, findMembers, type Member } from '../../formats/json/members.ts';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';
import type { RoundTripLink } from './recording.ts';
import { promptFields } from './view/round-trip-changes.ts';

/** The most messages of a request whose conversation is searched for. Longer conversations are not linked. */
export const maxMessages = 20_000;
/** The most fields of a request or a message that are read. The wanted fields come early. */
const maxFields = 1000;

/**
 * Creates the function that finds the conversation of an exchange once its Chat request is complete, and notes it there. An
 * exchange continues the latest one whose messages and answer its own begin with; system messages do not count.
 */
export function createRoundTripLinker(store: ExchangeStore): (exchange: StoredExchange) => void {
  /** The latest exchange for each history; the key is the hash of its messages. */
  const latest = new Map<string, number>();

  function findPlace({ messages }: ChatRequest): { readonly parent: number | null; readonly history: string } {
    let history = '';
    let parent: number | null = null;
    for (const { role, hash } of messages) {
      if (role === 'system') continue;
      const earlier = role === 'assistant' ? latest.get(history) : undefined;
      if (earlier !== undefined && store.get(earlier) !== undefined) parent = earlier;
      history = hashRange(Buffer.from(history + hash));
    }
    return { parent, history };
  }

  return (exchange) => {
    const isSent = exchange.facts.outcome !== 'running' || exchange.heads.chat_response !== undefined;
    if (exchange.link !== undefined || !isSent) return;
    const request = exchange.omitted.chat_request > 0 ? null : readChatRequest(exchange.joinBytes('chat_request'));
    exchange.link = null;
    if (request === null) return;
    // Evicted exchanges are removed now and then: looking at all of them for each exchange would take quadratic time.
    if (latest.size > 2 * store.limits.maxExchanges)
      for (const [old, id] of latest) if (store.get(id) === undefined) latest.delete(old);
    const { parent, history } = findPlace(request);
    const before = parent === null ? null : readChatRequest(store.get(parent)?.joinBytes('chat_request') ?? noBytes);
    exchange.link = buildRoundTripLink(request, parent, before);
    if (history !== '') latest.set(history, exchange.id);
  };
}

function buildRoundTripLink(request: ChatRequest, parent: number | null, before: ChatRequest | null): RoundTripLink {
  const messages = request.messages.length;
  if (before === null) return { parent, messages, kept_messages: 0, differs_at: null };
  const different = before.messages.findIndex((message, index) => message.hash !== request.messages[index]?.hash);
  const field = promptFields.find((name) => before.fields[name] !== request.fields[name]);
  const kept_messages = different === -1 ? before.messages.length : different;
  const differs_at = field ?? (different === -1 ? null : `messages[${different}]`);
  return { parent, messages, kept_messages, differs_at };
}

/** A Chat request as hashes of its parts as sent, because a server's prefix cache compares those bytes. */
type ChatRequest = NonNullable<ReturnType<typeof readChatRequest>>;

/** Reads the parts of a Chat request from its bytes. Nothing is parsed, since histories are long. */
export function readChatRequest(bytes: Buffer) {
  const fields = readFields(bytes, 0);
  const messages = fields.get('messages');
  const list = messages === undefined ? null : findMembers(bytes, messages.start, maxMessages);
  if (list?.type !== 'list' || list.isCut) return null;
  const hashes = promptFields.flatMap((name) => {
    const range = fields.get(name);
    return range === undefined ? [] : [[name, hashRange(bytes, range)] as const];
  });
  return {
    /** The hashes of the fields that chat templates write before the messages, and of the model, by field. */
    fields: Object.fromEntries(hashes),
    messages: list.members.map((range) => ({ hash: hashRange(bytes, range), role: readRole(bytes, range) })),
  };
}

function hashRange(bytes: Buffer, { start, end }: ByteRange = { start: 0, end: bytes.length }): string {
  return hash('sha1', bytes.subarray(start, end), 'base64url').slice(0, 16);
}

/** The role of a message. `developer` counts as `system`, and an unknown role as `user`. */
function readRole(bytes: Buffer, { start }: ByteRange) {
  const role = readFields(bytes, start).get('role');
  const text = role === undefined ? '' : bytes.toString('latin1', role.start + 1, role.end - 1);
  if (text === 'system' || text === 'developer') return 'system';
  return text === 'assistant' ? 'assistant' : 'user';
}

/** The fields of the object at `start`, by name; none where there is no object. */
export function readFields(bytes: Buffer, start: number): ReadonlyMap<string, Member> {
  const object = findMembers(bytes, start, maxFields);
  return new Map(object?.type === 'object' ? object.members.map((member) => [member.name, member]) : []);
}

const noBytes = Buffer.alloc(0);
