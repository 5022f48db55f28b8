import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BodyKind, Redactor } from '../../../../src/formats/credentials/redactor.ts';
import { createExchangeStore, defaultStoreLimits } from '../../../../src/tools/inspect/exchange-store.ts';
import { createBodyRecord } from '../../../../src/tools/inspect/record-body.ts';

/** A credential of the request that a body may repeat, whole or cut. */
const known = 'sk-0123456789abcdef0123456789abcdef';

function recordIn(maxBytes: number, kind: BodyKind) {
  const exchange = createExchangeStore({ ...defaultStoreLimits, maxBytes }).open(1);
  const redactor = new Redactor();
  redactor.headers([['authorization', `Bearer ${known}`]]);
  const body = createBodyRecord(exchange, 'chat_response', redactor, kind);
  return { exchange, redactor, body, kept: () => exchange.joinBytes('chat_response').toString() };
}

const delta = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    known,
    known.slice(0, 9),
    `x${known}y`,
    '{"api_key":"k-1"}',
    '"password": "p-1',
    'https://u:p@h/',
    '\\',
  ),
);
const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(delta, fc.constantFrom('item_id', 'access_token')).map(([text, name]) => eventOf(text, name)),
  },
  { weight: 1, arbitrary: fc.constantFrom(': keep-alive\n\n', 'data: [DONE]\r\n\r\n') },
);

function eventOf(delta: string, name: string): string {
  return `data: {"type":"response.output_text.delta","${name}":"msg_1","delta":${JSON.stringify(delta)}}\n\n`;
}

it('of a body with many credentials no more is kept than they can be looked for in', () => {
  const { redactor, body, kept, exchange } = recordIn(defaultStoreLimits.maxBytes, 'request');
  redactor.headers(Array.from({ length: 128 }, (_, at) => [`x-key-${at}`, `sk-${at}-0123456789`] as const));
  body.push(1, Buffer.alloc(300_000, 'x'));
  body.end(1);
  // The last that is searched may be the beginning of one.
  expect(kept()).toHaveLength(262_144 - 4096);
  expect(exchange.omitted.chat_response).toBe(300_000 - kept().length);
});

it('a stream is kept as if each of its events had come alone, in any pieces', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1 }), fc.array(fc.nat(2000)), (events, cuts) => {
      const { redactor, body, kept } = recordIn(defaultStoreLimits.maxBytes, 'answer');
      const bytes = Buffer.from(events.join(''));
      const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((one, other) => one - other);
      for (const [at, end] of [...places, bytes.length].entries())
        body.push(1, bytes.subarray(places[at - 1] ?? 0, end));
      body.end(1);
      const alone = events.map((one) => redactor.body(Buffer.from(one).toString('latin1'), 'answer'));
      expect(kept()).toBe(Buffer.from(alone.join(''), 'latin1').toString());
      expect(kept()).not.toContain(known);
    }),
  );
});

it('a whole event is kept as it comes, the beginning of another when it is whole', () => {
  const { body, kept } = recordIn(defaultStoreLimits.maxBytes, 'answer');
  body.push(1, Buffer.from('data: 1\n\ndata: '));
  expect(kept()).toBe('data: 1\n\n');
  body.push(2, Buffer.from('2\n\n'));
  expect(kept()).toBe('data: 1\n\ndata: 2\n\n');
});

it('JSON is kept when it is whole, since a list may be cut anywhere', () => {
  const { body, kept } = recordIn(defaultStoreLimits.maxBytes, 'answer');
  for (const piece of ['{"api_keys": [\n\n', '"a-secret"]}']) body.push(1, Buffer.from(piece));
  expect(kept()).toBe('');
  body.end(2);
  expect(kept()).toBe('{"api_keys": [\n\n"[redacted]"]}');
});

it.each(['request', 'answer'] as const)(
  'of a known credential that the room cuts, no beginning is kept: %s',
  (kind) => {
    for (let before = 24_000; before < 33_000; before += 7) {
      const { exchange, body, kept } = recordIn(64 * 1024, kind);
      body.push(1, Buffer.from('x'.repeat(before)));
      body.push(1, Buffer.from(known));
      body.push(1, Buffer.from('y'.repeat(9000)));
      body.end(2);
      expect(kept()).toMatch(/^x+(\[redacted\]?y*|\[?[redact]*)$/);
      expect(exchange.omitted.chat_response).toBeGreaterThan(0);
    }
  },
);
