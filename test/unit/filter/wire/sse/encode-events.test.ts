import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeLongEvents } from '../../../../../src/filter/exchange/response/delivery.ts';
import type { ResponseStreamEvent } from '../../../../../src/filter/wire/schema/stream-events.ts';
import { doneEvent, encodeSseEvents, keepAliveComment } from '../../../../../src/filter/wire/sse/encode-events.ts';
import { codePoint } from '../../../../support/code-point.ts';
import { runs } from '../../../../support/property-runs.ts';
import { wholeOf } from '../../../../support/whole-of.ts';

/** JSON with the separators that some readers take for line ends escaped. */
const jsonOf = (value: unknown) =>
  JSON.stringify(value).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const text = fc.oneof(fc.string({ unit: codePoint }), fc.string({ unit: 'binary-ascii' }));
/** Ids are ours. */
const id = fc.stringMatching(/^(msg|rs|fc)_[0-9a-z]{1,48}$/);
const index = fc.nat(1000);
const padding = fc.option(text, { nil: undefined });
const logprobs = fc.constantFrom([], [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }]);

/** Keys in the order in which the translator writes them; an absent padding has no key. */
const events: fc.Arbitrary<ResponseStreamEvent> = fc
  .record({
    place: fc.record({ item_id: id, output_index: index }),
    inner: index,
    delta: text,
    logprobs,
    padding,
    sequence_number: index,
  })
  .chain(({ place, inner, delta, logprobs: tokens, padding: obfuscation, sequence_number }) => {
    const tail = { ...(obfuscation !== undefined && { obfuscation }), sequence_number };
    return fc.constantFrom<ResponseStreamEvent>(
      { type: 'response.output_text.delta', ...place, content_index: inner, delta, logprobs: tokens, ...tail },
      { type: 'response.reasoning_summary_text.delta', ...place, summary_index: inner, delta, ...tail },
      { type: 'response.function_call_arguments.delta', ...place, delta, ...tail },
      { type: 'response.custom_tool_call_input.delta', ...place, delta, ...tail },
      { type: 'response.refusal.delta', ...place, content_index: inner, delta, ...tail },
    );
  });

// One alone, since whichever is found first is looked for in the rest too.
it.each([
  ['U+0085', '\u0085'],
  ['U+2028', '\u2028'],
  ['U+2029', '\u2029'],
])('%s, which a client might take for a line end, does not stand in an event', (name, character) => {
  const delta = `a${character}b`;
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const list: ResponseStreamEvent[] = [
    { type: 'response.output_text.delta', ...place, delta, logprobs: [], sequence_number: 1 },
    { type: 'response.output_text.done', ...place, text: delta, logprobs: [], sequence_number: 2 },
  ];
  const bytes = encodeSseEvents(list).toString();
  expect(bytes).not.toMatch(/[\u0085\u2028\u2029]/);
  expect(bytes).toContain(`"delta":"a\\u${name.slice(2)}b"`);
  expect(wholeOf(encodeLongEvents(list, false)).toString()).toBe(bytes);
});

it('each event is its type and one line of the JSON that JSON.stringify gives (property)', () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 4 }), (list) => {
      const expected = list.map((event) => `event: ${event.type}\ndata: ${jsonOf(event)}\n\n`).join('');
      expect(encodeSseEvents(list).toString('utf8')).toBe(expected);
    }),
    { numRuns: runs(500) },
  );
});

it.each([0, 0x1f, 0x20, 0x22, 0x5c, 0x7f, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff])(
  'the code unit %i alone is written as JSON.stringify writes it',
  (code) => {
    const place = { item_id: 'msg_1', output_index: 0, content_index: 0, sequence_number: 1 };
    for (const delta of [String.fromCharCode(code), `a${String.fromCharCode(code)}`, `${String.fromCharCode(code)}a`]) {
      const event = { type: 'response.output_text.delta', ...place, delta, logprobs: [] } as const;
      expect(encodeSseEvents([event]).toString()).toContain(`"delta":${JSON.stringify(delta)},`);
    }
  },
);

it('no event is no bytes', () => {
  expect(encodeSseEvents([])).toHaveLength(0);
});

it('the end and the heartbeat are literals of the specification', () => {
  expect(doneEvent.toString()).toBe('data: [DONE]\n\n');
  expect(keepAliveComment.toString()).toBe(': keepalive\n\n');
});
