import { Buffer } from 'node:buffer';
import { joinBytes } from '../../formats/bytes/growing-bytes.ts';
import { arrayOf, objectOf } from '../../formats/json/loose.ts';
import { findMembers } from '../../formats/json/members.ts';
import { maxFields } from './raw-fields.ts';

/**
 * The items that a continuation of a response needs: its conversation's inputs and outputs. They are kept as the bytes of their JSON,
 * in pieces to be joined by commas: outside V8's heap, counted exactly, and sent again without being parsed.
 */
export interface Conversation {
  readonly responseId: string;
  /** Null after an eviction. */
  items: readonly Buffer[] | null;
  readonly bytes: number;
}

export type Conversations = ReturnType<typeof createConversations>;

/** Bytes that a conversation takes besides its items. */
const conversationOverheadBytes = 512;

/**
 * The conversations of all connections of this process. The least recently used are evicted first. `resized` is called with the
 * total size after each change; it may call `evict`.
 */
export function createConversations(resized: (bytes: number) => void) {
  // A set is in the order of insertion; a continued conversation is inserted again.
  const kept = new Set<Conversation>();
  let bytes = 0;
  let evictions = 0;

  function forget(conversation: Conversation): void {
    if (!kept.delete(conversation)) return;
    bytes -= conversation.bytes + conversationOverheadBytes;
    resized(bytes);
  }

  return {
    keep(conversation: Conversation) {
      kept.add(conversation);
      bytes += conversation.bytes + conversationOverheadBytes;
      resized(bytes);
    },
    forget,
    /** Evicts the oldest conversations until `wanted` bytes are free. */
    evict(wanted: number) {
      const least = bytes - wanted;
      for (const conversation of kept) {
        if (bytes <= least) return;
        conversation.items = null;
        forget(conversation);
        evictions += 1;
      }
    },
    get bytes() {
      return bytes;
    },
    get evictions() {
      return evictions;
    },
  };
}

/** Pieces that are smaller together are copied into one, so that a long conversation is not a list of small buffers. */
const smallPieceBytes = 64 * 1024;

/**
 * Appends the request's own input and the response's output to the conversation before. A summary in the output replaces everything
 * before it. Null if the conversation before was evicted meanwhile.
 */
export function continueConversation(
  responseId: string,
  before: Conversation | null,
  input: Buffer | null,
  output: unknown,
): Conversation | null {
  const items = arrayOf(output);
  const summaryAt = items.findLastIndex((item) => objectOf<{ type?: unknown }>(item)?.type === 'compaction');
  return summaryAt === -1
    ? joinConversation(responseId, before, input === null ? null : dropTrigger(input), writeItems(items))
    : joinConversation(responseId, null, null, writeItems(items.slice(summaryAt)));
}

function joinConversation(
  responseId: string,
  before: Conversation | null,
  input: Buffer | null,
  output: Buffer | null,
): Conversation | null {
  if (before?.items === null) return null;
  const items = before === null ? [] : [...before.items];
  for (const piece of [input, output]) {
    if (piece === null) continue;
    const last = items.at(-1);
    if (last !== undefined && last.length + piece.length < smallPieceBytes)
      items[items.length - 1] = joinBytes([last, comma, piece]);
    else items.push(joinBytes([piece]));
  }
  return { responseId, items, bytes: items.reduce((sum, piece) => sum + piece.length, 0) };
}

const [comma, openBracket, closeBracket] = [Buffer.from(','), Buffer.from('['), Buffer.from(']')];
const triggerType = Buffer.from('"compaction_trigger"');

/** Drops a `compaction_trigger` from the end of the items: it asked for one summary, which failed, and is invalid elsewhere. */
function dropTrigger(items: Buffer): Buffer | null {
  if (!items.includes(triggerType)) return items;
  const bytes = joinBytes([openBracket, items, closeBracket]);
  const list = findMembers(bytes, 0, Number.POSITIVE_INFINITY)?.members ?? [];
  const [last, before] = [list.at(-1), list.at(-2)];
  const fields = last === undefined ? [] : (findMembers(bytes, last.start, maxFields)?.members ?? []);
  const type = fields.findLast(({ name }) => name === 'type');
  if (type === undefined || !bytes.subarray(type.start, type.end).equals(triggerType)) return items;
  return before === undefined ? null : bytes.subarray(1, before.end);
}

/** Reads the items of a request's `input` as bytes without the brackets; a text becomes a message. Null if there are none. */
export function readInputItems(input: Buffer): Buffer | null {
  if (input[0] === 0x22) return Buffer.concat([messageHead, input, messageEnd]);
  if (input[0] !== 0x5b) return null;
  const items = input.subarray(1, -1);
  return items.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) ? null : items;
}

const messageHead = Buffer.from('{"type":"message","role":"user","content":');
const messageEnd = Buffer.from('}');

/** Writes items as JSON without the brackets; null if there are none. */
function writeItems(output: readonly unknown[]): Buffer | null {
  return output.length > 0 ? Buffer.from(JSON.stringify(output).slice(1, -1)) : null;
}
