import { describe, expect, it } from 'vitest';
import {
  type Conversation,
  continueConversation,
  createConversations,
  readInputItems,
} from '../../../../src/service/websocket/conversations.ts';

const bytesOf = (text: string) => Buffer.from(text);
/** The conversation after another that is still kept. */
function kept(...given: Parameters<typeof continueConversation>): Conversation & { readonly items: readonly Buffer[] } {
  const made = continueConversation(...given);
  if (made === null || made.items === null) throw new Error('it was evicted');
  return { ...made, items: made.items };
}
const textOf = (items: readonly Buffer[]) => items.map(String).join(',');

describe('the items of a conversation', () => {
  it('are those of input and output, as JSON without brackets', () => {
    expect(String(readInputItems(bytesOf('[{"a": 1.0}, "b" ]')))).toBe('{"a": 1.0}, "b" ');
    expect(String(readInputItems(bytesOf('"Hé"')))).toBe('{"type":"message","role":"user","content":"Hé"}');
    for (const nothing of ['[]', '[ \n\r\t]', 'null', '5', '{}'])
      expect(readInputItems(bytesOf(nothing)), nothing).toBeNull();
    expect(textOf(kept('resp_1', null, null, [{ a: 1 }, 'b']).items)).toBe('{"a":1},"b"');
    for (const nothing of [[], null, undefined, 5, {}]) expect(kept('resp_1', null, null, nothing).items).toEqual([]);
  });

  it('follow one another across turns, small pieces joined into one buffer of its own', () => {
    let conversation = kept('resp_0', null, bytesOf('0'), null);
    for (let turn = 1; turn <= 100; turn++)
      conversation = kept(`resp_${turn}`, conversation, bytesOf(`${turn}`), [`${turn}`]);
    expect(conversation.items).toHaveLength(1);
    expect(JSON.parse(`[${textOf(conversation.items)}]`)).toHaveLength(201);
    expect(conversation.bytes).toBe(textOf(conversation.items).length);
    for (const piece of conversation.items) expect(piece.buffer.byteLength).toBe(piece.length);
  });

  it('are joined as long as they stay below 64 KiB', () => {
    const pieces = (bytes: number) =>
      kept('resp_1', null, Buffer.alloc(bytes, '1'), ['2'.repeat(bytes - 2)]).items.map(({ length }) => length);
    expect(pieces(32 * 1024 - 1)).toEqual([64 * 1024 - 1]);
    expect(pieces(32 * 1024)).toEqual([32 * 1024, 32 * 1024]);
    expect(
      continueConversation('resp_2', { responseId: 'resp_1', items: null, bytes: 5 }, bytesOf('1'), null),
    ).toBeNull();
  });

  it('are not copied again once they are large', () => {
    const large = Buffer.alloc(100_000, '1');
    const first = kept('resp_1', null, large, null);
    const second = kept('resp_2', first, bytesOf('2'), null);
    expect(second.items[0]).toBe(first.items[0]);
    expect(second.items).toHaveLength(2);
  });
});

describe('a trigger for a summary', () => {
  const trigger = '{"type":"compaction_trigger"}';
  const leftOf = (input: string, output: unknown) => textOf(kept('resp_1', null, bytesOf(input), output).items);

  it('is no part of the conversation, whether or not the summary was made', () => {
    const summary = { type: 'compaction', encrypted_content: 'orc' };
    expect(leftOf(`{"a":1},${trigger}`, [summary])).toBe(JSON.stringify(summary));
    expect(leftOf(`{"a":1}, ${trigger} `, [])).toBe('{"a":1}');
    expect(leftOf(trigger, [])).toBe('');
  });

  it('is not what only looks like one', () => {
    for (const input of [`${trigger},{"a":1}`, '{"type":"a","b":"compaction_trigger"}', '"compaction_trigger"', ''])
      expect(leftOf(input, []), input).toBe(input);
  });
});

describe('the store', () => {
  it('counts what it keeps, and forgets the oldest first', () => {
    let room = 10_000;
    const store = createConversations((bytes) => store.evict(Math.max(0, bytes - room)));
    const [a, b, c] = ['a', 'b', 'c'].map((id) => kept(id, null, Buffer.alloc(1000, '1'), null));
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were made');
    for (const conversation of [a, b, c]) store.keep(conversation);
    const each = store.bytes / 3;
    expect(each).toBeGreaterThan(1000);
    store.forget(b);
    store.forget(b);
    expect(store.bytes).toBe(2 * each);
    room = each;
    store.keep(b);
    expect([a, b, c].map(({ items }) => items === null)).toEqual([true, false, true]);
    expect({ bytes: store.bytes, evictions: store.evictions }).toEqual({ bytes: each, evictions: 2 });
  });

  it('keeps nothing that does not fit at all', () => {
    const store = createConversations((bytes) => store.evict(Math.max(0, bytes - 100)));
    const large = kept('a', null, Buffer.alloc(1000, '1'), null);
    store.keep(large);
    expect({ items: large.items, bytes: store.bytes }).toEqual({ items: null, bytes: 0 });
  });
});
