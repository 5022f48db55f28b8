import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createExchangeStore,
  defaultStoreLimits,
  type ExchangeStore,
} from '../../../../src/tools/inspect/exchange-store.ts';
import { createRoundTripLinker, readChatRequest } from '../../../../src/tools/inspect/round-trip-links.ts';
import { addBytes, overFacts, requestHead } from '../../../support/recorded-exchange.ts';

const system = { role: 'system', content: 'Be brief.' };
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

function record(store: ExchangeStore, body: unknown): number {
  const exchange = store.open(1);
  exchange.setHead('chat_request', requestHead);
  addBytes(exchange, 'chat_request', 0, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  exchange.setFacts(overFacts);
  return exchange.id;
}

/** The turns of the exchanges, as they are linked one after the other. */
function linksIn(store: ExchangeStore) {
  const link = createRoundTripLinker(store);
  return [...store.list()].map((exchange) => {
    link(exchange);
    return exchange.link;
  });
}

/** Requests with these messages, as turns. */
function linked(...requests: readonly (readonly object[])[]) {
  const store = createExchangeStore();
  for (const messages of requests) record(store, { model: 'm', messages });
  return linksIn(store).map((link) => link && [link.parent, link.kept_messages, link.differs_at]);
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
        const turn = readChatRequest(Buffer.from(JSON.stringify(value, null, indent)));
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
    expect(readChatRequest(Buffer.from(text))).toBeNull();
  });
});

describe('turns of a conversation', () => {
  it('continue the one whose messages they begin with, an answer following', () => {
    const first = [system, user('Hi')];
    const second = [...first, assistant('Hello'), user('And?')];
    const third = [...second, assistant('Well'), user('So?')];
    const other = [system, user('Another')];
    expect(linked(first, other, second, third, [...other, assistant('Yes'), user('Go on')])).toEqual([
      [null, 0, null],
      [null, 0, null],
      [1, 2, null],
      [3, 4, null],
      [2, 2, null],
    ]);
  });

  it('do not continue an equal request, nor one with more of the user', () => {
    const first = [user('Hi')];
    expect(linked(first, first, [...first, user('More')])).toEqual([
      [null, 0, null],
      [null, 0, null],
      [null, 0, null],
    ]);
  });

  it('continue one with another system message, and say that the prefix parts there', () => {
    const at = (time: string) => ({ role: 'system', content: `It is ${time}.` });
    const history = [user('Hi'), assistant('Hello'), user('And?')];
    expect(linked([at('12:00'), user('Hi')], [at('12:01'), ...history])).toEqual([
      [null, 0, null],
      [1, 0, 'messages[0]'],
    ]);
  });

  it('name the field before the messages that differs', () => {
    const store = createExchangeStore();
    record(store, { model: 'm', messages: [user('Hi')], tools: [1] });
    record(store, { model: 'm', messages: [user('Hi'), assistant('Hello'), user('And?')], tools: [1, 2] });
    expect(linksIn(store)[1]).toEqual({
      parent: 1,
      messages: 3,
      kept_messages: 1,
      differs_at: 'tools',
    });
  });

  it('are only requests that are whole, and complete', () => {
    const store = createExchangeStore({ ...defaultStoreLimits, maxBytes: 128 * 1024 });
    record(store, { model: 'm', messages: [user('x'.repeat(100_000))] });
    const running = store.open(1);
    addBytes(running, 'chat_request', 0, JSON.stringify({ messages: [user('Hi')] }));
    expect(linksIn(store)).toEqual([null, undefined]);
    running.setHead('chat_response', new Map([[':status', '200']]));
    expect(linksIn(store)).toMatchObject([null, { parent: null }]);
  });

  it('do not continue one that is no longer kept', () => {
    const store = createExchangeStore({ ...defaultStoreLimits, maxExchanges: 2 });
    const link = createRoundTripLinker(store);
    const turns = ['Hi', 'Ho', 'He'].map((text, index) => {
      const history = index < 2 ? [user(text)] : [user('Hi'), assistant('Hello'), user(text)];
      const exchange = store.get(record(store, { model: 'm', messages: history }));
      if (exchange !== undefined) link(exchange);
      return exchange?.link?.parent;
    });
    expect(turns).toEqual([null, null, null]);
  });
});
