import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { turnOf } from '../../../../src/tools/inspect/chat-request-hashes.ts';
import {
  createExchangeStore,
  defaultStoreLimits,
  type ExchangeStore,
} from '../../../../src/tools/inspect/exchange-store.ts';
import { linkTurns } from '../../../../src/tools/inspect/turn-links.ts';
import { overFacts, requestHead } from '../../../support/recorded-exchange.ts';

const never = new AbortController().signal;
const system = { role: 'system', content: 'Be brief.' };
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

function record(store: ExchangeStore, body: unknown): number {
  const exchange = store.open(1);
  exchange.setHead('chat_request', requestHead);
  exchange.addPiece('chat_request', 0, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  exchange.setFacts(overFacts);
  return exchange.id;
}

/** Requests with these messages, as turns. */
async function linked(...requests: readonly (readonly object[])[]) {
  const store = createExchangeStore();
  for (const messages of requests) record(store, { model: 'm', messages });
  return (await linkTurns(store, never)).map(({ id, parent, kept_messages, differs_at }) => [
    id,
    parent,
    kept_messages,
    differs_at,
  ]);
}

describe('a Chat request as its parts', () => {
  it('has the same parts whatever the JSON, and parts that differ where their bytes differ', () => {
    const message = fc.record({
      content: fc.jsonValue(),
      role: fc.constantFrom('system', 'developer', 'assistant', 'tool'),
    });
    const request = fc.record({
      model: fc.string(),
      tools: fc.jsonValue(),
      messages: fc.array(message),
      other: fc.jsonValue(),
    });
    fc.assert(
      fc.property(request, fc.constantFrom(undefined, 1), (value, indent) => {
        const turn = turnOf(Buffer.from(JSON.stringify(value, null, indent)));
        const roles = { system: 'system', developer: 'system', assistant: 'assistant', tool: 'user' };
        expect(turn?.messages.map(({ role }) => role)).toEqual(
          value.messages.map(({ role }) => roles[role as keyof typeof roles]),
        );
        const texts = value.messages.map((each) => JSON.stringify(each));
        expect(new Set(turn?.messages.map(({ hash }) => hash)).size).toBe(new Set(texts).size);
        expect(Object.keys(turn?.fields ?? {})).toEqual(['model', 'tools']);
      }),
    );
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"messages":1}',
    '{"messages":[{"role":"user"',
    '{"messages":[]',
    'no JSON',
    '{"messages":[}',
  ])('is none in %j', (text) => {
    expect(turnOf(Buffer.from(text))).toBeNull();
  });
});

describe('turns of a conversation', () => {
  it('continue the one whose messages they begin with, an answer following', async () => {
    const first = [system, user('Hi')];
    const second = [...first, assistant('Hello'), user('And?')];
    const third = [...second, assistant('Well'), user('So?')];
    const other = [system, user('Another')];
    expect(await linked(first, other, second, third, [...other, assistant('Yes'), user('Go on')])).toEqual([
      [1, null, 0, null],
      [2, null, 0, null],
      [3, 1, 2, null],
      [4, 3, 4, null],
      [5, 2, 2, null],
    ]);
  });

  it('do not continue an equal request, nor one with more of the user', async () => {
    const first = [user('Hi')];
    expect(await linked(first, first, [...first, user('More')])).toEqual([
      [1, null, 0, null],
      [2, null, 0, null],
      [3, null, 0, null],
    ]);
  });

  it('continue one with another system message, and say that the prefix parts there', async () => {
    const at = (time: string) => ({ role: 'system', content: `It is ${time}.` });
    const history = [user('Hi'), assistant('Hello'), user('And?')];
    expect(await linked([at('12:00'), user('Hi')], [at('12:01'), ...history])).toEqual([
      [1, null, 0, null],
      [2, 1, 0, 'messages[0]'],
    ]);
  });

  it('name the field before the messages that differs', async () => {
    const store = createExchangeStore();
    record(store, { model: 'm', messages: [user('Hi')], tools: [1] });
    record(store, { model: 'm', messages: [user('Hi'), assistant('Hello'), user('And?')], tools: [1, 2] });
    expect((await linkTurns(store, never))[1]).toEqual({
      id: 2,
      parent: 1,
      messages: 3,
      kept_messages: 1,
      differs_at: 'tools',
    });
  });

  it('are only requests that are whole, and complete', async () => {
    const store = createExchangeStore({ ...defaultStoreLimits, maxBytes: 128 * 1024 });
    record(store, { model: 'm', messages: [user('x'.repeat(100_000))] });
    const running = store.open(1);
    running.addPiece('chat_request', 0, Buffer.from(JSON.stringify({ messages: [user('Hi')] })));
    expect(await linkTurns(store, never)).toEqual([]);
    running.addPiece('chat_response', 0, Buffer.from('{'));
    expect(await linkTurns(store, never)).toMatchObject([{ id: 2 }]);
  });

  it('are found out once, which is counted while it is kept', async () => {
    const store = createExchangeStore();
    const id = record(store, { model: 'm', messages: Array.from({ length: 1000 }, () => user('Hi')) });
    const before = store.heldBytes;
    await linkTurns(store, never);
    const kept = store.get(id)?.turn;
    expect(store.heldBytes - before).toBeGreaterThan(50 * 1000);
    await linkTurns(store, never);
    expect(store.get(id)?.turn).toBe(kept);
    store.get(id)?.discard();
    expect(store.heldBytes).toBe(0);
  });

  it('are found out anew each time where there is no room to keep them', async () => {
    const store = createExchangeStore({ ...defaultStoreLimits, maxBytes: 128 * 1024 });
    const id = record(store, { model: 'm', messages: Array.from({ length: 800 }, () => user('Hi')) });
    expect(await linkTurns(store, never)).toMatchObject([{ messages: 800 }]);
    expect(store.get(id)?.turn).toBeUndefined();
  });
});
