import { Buffer } from 'node:buffer';
import { joinBytes } from '../../formats/bytes/growing-bytes.ts';
import { arrayOf, objectOf } from '../../formats/json/loose.ts';
import { membersOf } from '../../formats/json/members.ts';
import { maxFields } from './raw-fields.ts';

/**
 * The part of a response that a continuation of it needs: the items of its request's input and of its output. They are kept
 * as the bytes of their JSON, in pieces to be joined by commas: outside V8's heap, counted exactly, and sent again without
 * being parsed.
 */
export interface Conversation {
  readonly responseId: string;
  /** Null once it was evicted. */
  items: readonly Buffer[] | null;
  readonly bytes: number;
}

export type Conversations = ReturnType<typeof createConversations>;

/** Objects and buffers of a conversation, besides its bytes. */
const conversationOverheadBytes = 512;

/**
 * The conversations of all connections of this process: counted, and evicted least recently used first. `resized` is called with
 * the total whenever it has changed; it may call `evict`.
 */
export function createConversations(resized: (bytes: number) => void) {
  // In the order of insertion: a continued conversation is inserted again.
  const kept = new Set<Conversation>();
  let bytes = 0;
  let evictions = 0;

  function forget(conversation: Conversation): void {
    if (!kept.delete(conversation)) return;
    bytes -= conversation.bytes + conversationOverheadBytes;
    resized(bytes);
  }

  return {
    /** Keeps it, evicting older ones if necessary. One that does not fit at all is dropped at once. */
    keep(conversation: Conversation) {
      kept.add(conversation);
      bytes += conversation.bytes + conversationOverheadBytes;
      resized(bytes);
    },
    forget,
    /** Evicts the oldest until this many bytes are free. */
    evict(wanted: number) {
      const least = bytes - wanted;
      for (const conversation of kept) {
        if (bytes <= least) return;
        // Its connection still refers to it.
        conversation.items = null;
        forget(conversation);
        evictions += 1;
      }
    },
    /** Bytes kept now. */
    get bytes() {
      return bytes;
    },
    /** How many have been evicted for lack of room. */
    get evictions() {
      return evictions;
    },
  };
}

/** Smaller pieces are copied into one, so that a long conversation is not a list of small buffers. */
const smallPieceBytes = 64 * 1024;

/**
 * The conversation after a response: the one before it, the request's own input, the response's output. A summary in the output
 * takes the place of all before it. Null if the one before it was evicted meanwhile.
 */
export function conversationOf(
  responseId: string,
  before: Conversation | null,
  input: Buffer | null,
  output: unknown,
): Conversation | null {
  const items = arrayOf(output);
  const summaryAt = items.findLastIndex((item) => objectOf<{ type?: unknown }>(item)?.type === 'compaction');
  return summaryAt === -1
    ? joinedConversation(responseId, before, input === null ? null : withoutTrigger(input), itemsOfOutput(items))
    : joinedConversation(responseId, null, null, itemsOfOutput(items.slice(summaryAt)));
}

function joinedConversation(
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

const comma = Buffer.from(',');

const triggerType = Buffer.from('"compaction_trigger"');

/** The items without the `compaction_trigger` at their end: it asked for one summary, which failed, and may stand nowhere else. */
function withoutTrigger(items: Buffer): Buffer | null {
  if (!items.includes(triggerType)) return items;
  const bytes = joinBytes([openBracket, items, closeBracket]);
  const list = membersOf(bytes, 0, Number.POSITIVE_INFINITY)?.members ?? [];
  const [last, before] = [list.at(-1), list.at(-2)];
  const fields = last === undefined ? [] : (membersOf(bytes, last.start, maxFields)?.members ?? []);
  const type = fields.findLast(({ name }) => name === 'type');
  if (type === undefined || !bytes.subarray(type.start, type.end).equals(triggerType)) return items;
  return before === undefined ? null : bytes.subarray(1, before.end);
}

const openBracket = Buffer.from('[');
const closeBracket = Buffer.from(']');

/** The items of an `input` as it was sent, without the brackets; a text is one message. Null where there are none. */
export function itemsOf(input: Buffer): Buffer | null {
  if (input[0] === 0x22) return Buffer.concat([messageHead, input, messageEnd]);
  if (input[0] !== 0x5b) return null;
  const items = input.subarray(1, -1);
  return items.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) ? null : items;
}

const messageHead = Buffer.from('{"type":"message","role":"user","content":');
const messageEnd = Buffer.from('}');

/** The items of a Response's `output` as JSON, without brackets. Null where it has none. */
function itemsOfOutput(output: readonly unknown[]): Buffer | null {
  return output.length > 0 ? Buffer.from(JSON.stringify(output).slice(1, -1)) : null;
}
