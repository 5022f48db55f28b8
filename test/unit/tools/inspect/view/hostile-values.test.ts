import { describe, expect, it } from 'vitest';
import { findErrorMessage, findLastResponse } from '../../../../../src/tools/inspect/view/answer-parts.ts';
import { createDeltaTexts } from '../../../../../src/tools/inspect/view/delta-texts.ts';
import { chooseOpening, writeIndentedJson, writeJsonLines } from '../../../../../src/tools/inspect/view/json-lines.ts';
import { compareRoundTrips } from '../../../../../src/tools/inspect/view/round-trip-changes.ts';
import { labelChunk, labelEvent, parseShown } from '../../../../../src/tools/inspect/view/timeline.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** Values of any shape, among them one that is no text and cannot become one, and what is nested as deep as it is shown, and deeper. */
const values = [
  ...['null', '1', '"x"', 'true', '[]', '{}', '[null]', '{"__proto__":1}', '{"length":-1}'],
  ...['{"toString":1,"valueOf":1}', nested(480), nested(20_000)],
];

const entry = (raw: string) => ({ kind: 'data', raw, atMs: 0 }) as const;
const answer = (body: string, type: string) => ({
  status: 500,
  headers: [{ name: 'content-type', value: type }],
  pieces: [{ at_ms: 0, text: body }],
});

describe('what clients and servers may send', () => {
  it.each(values.map((value) => [value.slice(0, 30), value]))('is shown with %s in any place', (_, x) => {
    for (const chunk of [
      `{"choices":[{"delta":${x},"finish_reason":${x}}]}`,
      `{"choices":[{"delta":{"content":${x}},"finish_reason":${x}}]}`,
      `{"choices":${x},"usage":${x},"error":${x}}`,
      `{"usage":{"prompt_tokens":${x},"completion_tokens":${x}}}`,
      x,
    ])
      expect(labelChunk(entry(chunk))).toEqual(expect.any(String));
    for (const event of [
      `{"type":"response.completed","response":${x}}`,
      `{"type":"response.output_text.delta","output_index":${x},"content_index":${x},"delta":${x}}`,
      `{"type":"response.output_item.done","item":{"type":${x},"content":${x}}}`,
      `{"type":${x},"error":${x}}`,
    ]) {
      expect(labelEvent(entry(event))).toEqual(expect.any(String));
      findLastResponse(`data: ${event}\n\n`);
      createDeltaTexts().add(event, 1);
    }
    for (const body of [
      x,
      `{"input":${x},"messages":${x}}`,
      `{"input":[${x}]}`,
      `{"messages":[{"role":${x},"content":${x}}],"tools":${x}}`,
    ]) {
      const value = parseShown(body);
      chooseOpening(value);
      expect(writeIndentedJson(value)).toEqual(expect.any(String));
      expect(writeJsonLines(value, { columns: 80 })).toEqual(expect.any(Array));
      compareRoundTrips(null, value);
      compareRoundTrips(value, parseShown('{"messages":[{"role":"user"}]}'));
    }
    const error = `{"error":{"message":${x},"code":${x}}}`;
    const said = [answer(error, 'application/json'), answer(`data: ${error}\n\n`, 'text/event-stream')];
    for (const each of said) expect([null, 'string']).toContain(findErrorMessage(each) === null ? null : 'string');
  });
});
