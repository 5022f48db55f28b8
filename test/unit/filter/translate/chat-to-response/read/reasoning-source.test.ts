import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mergeReasoningDetails,
  mergeThinkingBlocks,
  readReasoning,
} from '../../../../../../src/filter/translate/chat-to-response/read/reasoning-source.ts';

describe('readReasoning', () => {
  it('takes the first source that has text, in the order of the table', () => {
    const message = {
      reasoning_content: '1',
      reasoning: '2',
      reasoning_text: '3',
      reasoning_details: [{ type: 'reasoning.text', text: '4' }],
      content: [{ type: 'thinking', thinking: '5' }],
      thinking: '6',
      thinking_blocks: [{ type: 'thinking', thinking: '7' }],
    };
    const order = Object.keys(message);
    for (const [index] of order.entries()) {
      const left = Object.fromEntries(Object.entries(message).slice(index));
      expect(readReasoning(left).text).toBe(String(index + 1));
    }
    expect(readReasoning({}).text).toBe('');
  });

  it('gives details even where the text comes from elsewhere', () => {
    const detail = { type: 'reasoning.text', text: 'a', signature: 's' };
    expect(readReasoning({ reasoning: 'a', reasoning_details: [detail, 'junk', null] })).toEqual({
      text: 'a',
      details: [detail],
      blocks: [],
    });
  });

  it.each([
    [{ reasoning: { text: 'a' } }],
    [{ reasoning: { content: 'a' } }],
    [{ reasoning: { text: '', content: 'a' } }],
  ])('reads an object around the text: %j', (message) => {
    expect(readReasoning(message).text).toBe('a');
  });

  it.each([
    { reasoning_content: null, reasoning: 3 },
    { reasoning: ['a'], reasoning_details: 'x' },
    { reasoning_details: {}, thinking: {}, thinking_blocks: 'a' },
    { content: 'thinking' },
  ])('finds nothing in %j', (message) => {
    expect(readReasoning(message)).toEqual({ text: '', details: [], blocks: [] });
  });
});

describe('mergeReasoningDetails', () => {
  it('joins the texts of one index and keeps the last signature', () => {
    expect(
      mergeReasoningDetails([
        { type: 'reasoning.text', text: 'a', index: 0, format: 'f', signature: null },
        { type: 'reasoning.summary', summary: 'x', index: 1 },
        { type: 'reasoning.text', text: 'b', index: 0 },
        { type: 'reasoning.summary', summary: 'y', index: 1 },
        { type: 'reasoning.text', text: '', index: 0, signature: 's' },
      ]),
    ).toEqual([
      { type: 'reasoning.text', text: 'ab', index: 0, format: 'f', signature: 's' },
      { type: 'reasoning.summary', summary: 'xy', index: 1 },
    ]);
  });

  it('does not lose what it has to an entry that leaves it empty', () => {
    const first = { type: 'reasoning.text', text: 'a', index: 0, signature: 's', id: 'i', format: 'f' };
    const next = { type: 'reasoning.text', text: null, index: 0, signature: null, id: undefined, format: '' };
    expect(mergeReasoningDetails([first, next])).toEqual([first]);
  });

  it('takes a value that is no text from the latest entry, and nothing from one without', () => {
    const parts = [{ a: 1 }];
    expect(
      mergeReasoningDetails([
        { type: 't', text: 'a', summary: 'x', index: 0 },
        { type: 't', text: parts, summary: parts, index: 0 },
        { type: 't', text: '', summary: null, index: 0 },
      ]),
    ).toEqual([{ type: 't', text: parts, summary: parts, index: 0 }]);
    expect(
      mergeReasoningDetails([
        { type: 't', text: parts, index: 0 },
        { type: 't', text: 'a', summary: 'x', index: 0 },
      ]),
    ).toEqual([{ type: 't', text: 'a', summary: 'x', index: 0 }]);
  });

  it('keeps what is encrypted apart, also under the index of a text', () => {
    const encrypted = [
      { type: 'reasoning.encrypted', data: '1', index: 0 },
      { type: 'reasoning.encrypted', data: '2', index: 0 },
    ];
    expect(mergeReasoningDetails([{ type: 'reasoning.text', text: 'a', index: 0 }, ...encrypted])).toEqual([
      { type: 'reasoning.text', text: 'a', index: 0 },
      ...encrypted,
    ]);
  });

  it('joins neighbours of one type where there is no index', () => {
    expect(
      mergeReasoningDetails([
        { type: 'reasoning.text', text: 'a' },
        { type: 'reasoning.text', text: 'b' },
        { type: 'reasoning.encrypted', data: 'x' },
        { type: 'reasoning.text', text: 'c' },
      ]),
    ).toEqual([
      { type: 'reasoning.text', text: 'ab' },
      { type: 'reasoning.encrypted', data: 'x' },
      { type: 'reasoning.text', text: 'c' },
    ]);
  });

  it('does not change what it was given', () => {
    const details = [
      Object.freeze({ type: 'reasoning.text', text: 'a', index: 0 }),
      { type: 'reasoning.text', text: 'b', index: 0 },
    ];
    expect(mergeReasoningDetails(details)).toHaveLength(1);
  });
});

describe('mergeThinkingBlocks', () => {
  const signed = { type: 'thinking', thinking: 'Tide first.', signature: 's' };

  it('gives one block however its text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(signed.thinking.length), { maxLength: 6 }), fc.boolean(), (places, endsWithText) => {
        const cuts = [0, ...places.toSorted((a, b) => a - b), signed.thinking.length];
        const texts = cuts.slice(1).map((end, index) => signed.thinking.slice(cuts[index], end));
        const deltas = texts.map((thinking) => ({ type: 'thinking', thinking, signature: null as string | null }));
        if (endsWithText) deltas.splice(-1, 1, { type: 'thinking', thinking: texts.at(-1) ?? '', signature: 's' });
        else deltas.push({ type: 'thinking', thinking: '', signature: 's' });
        expect(mergeThinkingBlocks(deltas)).toEqual([signed]);
      }),
    );
  });

  it('begins a block after a signature, and for what is redacted', () => {
    const redacted = { type: 'redacted_thinking', data: 'x' };
    const omitted = { type: 'thinking', thinking: '', signature: 't' };
    const whole = [signed, omitted, redacted, redacted, { ...signed, signature: 'u' }];
    expect(mergeThinkingBlocks(whole)).toEqual(whole);
  });

  it('keeps fields that nobody here reads', () => {
    const deltas = [
      { type: 'thinking', thinking: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'thinking', thinking: null, signature: 's', cache_control: null },
    ];
    expect(mergeThinkingBlocks(deltas)).toEqual([
      { type: 'thinking', thinking: 'a', signature: 's', cache_control: { type: 'ephemeral' } },
    ]);
  });
});
