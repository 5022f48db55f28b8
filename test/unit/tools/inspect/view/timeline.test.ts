import { describe, expect, it } from 'vitest';
import { buildPiece, type ExchangeFilePiece } from '../../../../../src/tools/files/exchange-file.ts';
import { buildTimeline, labelChunk, labelEvent } from '../../../../../src/tools/inspect/view/timeline.ts';
import { everyCut } from '../../../../support/split.ts';

const streamed = (pieces: readonly ExchangeFilePiece[]) => ({ pieces, isStream: true });
const chunk = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}]}\n\n`;
const event = (delta: string) =>
  `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })}\n\n`;

function linesOf(rows: ReturnType<typeof buildTimeline>): string[] {
  return rows.map(
    ({ upstream, client, isFirst }) =>
      `${isFirst ? '>' : ' '} ${upstream === null ? '' : labelChunk(upstream)} | ${client === null ? '' : labelEvent(client)}`,
  );
}

describe('the timeline', () => {
  it('puts the events beside the chunk that they came from', () => {
    const timeline = buildTimeline(
      streamed([
        { at_ms: 1, text: chunk('a') },
        { at_ms: 5, text: chunk('b') },
      ]),
      streamed([
        { at_ms: 1.1, text: event('a') + event('A') },
        { at_ms: 5.2, text: event('b') },
      ]),
    );
    expect(linesOf(timeline)).toEqual([
      '> content "a" | output_text.delta #0.0 "a"',
      '   | output_text.delta #0.0 "A"',
      '> content "b" | output_text.delta #0.0 "b"',
    ]);
  });

  it('finds the same messages however the bytes are cut, also inside a character', () => {
    let cuts = 0;
    const stream = Buffer.from(`${chunk('é𝄞') + chunk('b')}data: [DONE]\n\n`);
    for (const { how, pieces } of everyCut(stream)) {
      const timeline = buildTimeline(
        streamed([...pieces].map((piece, index) => buildPiece(index, Buffer.from(piece)))),
        streamed([]),
      );
      const found = timeline.flatMap(({ upstream }) => (upstream === null ? [] : [labelChunk(upstream)]));
      expect(found, how).toEqual(['content "é𝄞"', 'content "b"', '[DONE]']);
      expect(timeline.map(({ upstream }) => upstream?.kind)).toEqual(['data', 'data', 'done']);
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(0);
  });

  it('shows what is not a stream, and heartbeats that answer nothing', () => {
    const timeline = buildTimeline(
      { pieces: [{ at_ms: 9, text: '{"choices":[]}' }], isStream: false },
      streamed([
        { at_ms: 5, text: ': keepalive\n\n' },
        { at_ms: 10, text: event('x') },
      ]),
    );
    expect(linesOf(timeline)).toEqual(['>  | : keepalive', '> {"choices":[]} | output_text.delta #0.0 "x"']);
  });

  it.each([
    '{',
    'null',
    '[]',
    '{"choices":7}',
    '{"choices":[null]}',
    '{"choices":[{"delta":3}]}',
    '{"usage":{}}',
    '{"type":"x"}',
    '{"type":7}',
    '{"type":"error","response":3}',
  ])('labels %s, which nobody should send', (raw) => {
    expect(typeof labelChunk({ atMs: 0, raw, kind: 'data' })).toBe('string');
    expect(typeof labelEvent({ atMs: 0, raw, kind: 'data' })).toBe('string');
  });
});
