import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseDecoder, SseLimitError, type SseMessage } from '../../../../src/formats/sse/sse-decoder.ts';
import { codePoint } from '../../../support/code-point.ts';
import { everyCut, inPiecesOf } from '../../../support/split.ts';

const MiB = 1024 * 1024;

function decode(pieces: Iterable<Uint8Array>, maxEventBytes = MiB): SseMessage[] {
  const decoder = new SseDecoder({ maxEventBytes });
  const messages: SseMessage[] = [];
  for (const piece of pieces) messages.push(...decoder.push(piece));
  return [...messages, ...decoder.finish()];
}

const read = (text: string, maxEventBytes?: number) => decode([Buffer.from(text)], maxEventBytes);
const event = (data: string, name: string | null = null): SseMessage => ({ type: 'event', event: name, data });

describe('an event stream is read', () => {
  it.each<[string, string, SseMessage[]]>([
    ['an event with its name', 'event: error\ndata: a\n\n', [event('a', 'error')]],
    ['names that do not stay for the next event', 'event: x\ndata: a\n\ndata: b\n\n', [event('a', 'x'), event('b')]],
    ['an empty name as none', 'event:\ndata: a\n\n', [event('a')]],
    ['only one space cut off', 'data:  a \n\n', [event(' a ')]],
    ['a field without a colon', 'data\n\n', [event('')]],
    ['several lines joined', 'data: a\ndata: b\n\n', [event('a\nb')]],
    ['unknown fields as nothing', 'id: 1\nretry: 5\nfoo: bar\n\ndata: a\n\n', [event('a')]],
    ['an event without data as nothing', 'event: ping\n\n', []],
    ['comments', ': hello\n:\n\n', [{ type: 'comment' }, { type: 'comment' }]],
    ['a comment within an event', 'data: a\n: hello\ndata: b\n\n', [{ type: 'comment' }, event('a\nb')]],
    ['a byte order mark at the start', '\ufeffdata: a\n\n', [event('a')]],
    [
      'a byte order mark elsewhere as part of a name',
      'data: a\n\n\ufeffdata: b\n\ndata: c\n\n',
      [event('a'), event('c')],
    ],
    ['an event that lacks its blank line', 'data: a', [event('a')]],
    ['a bare JSON line as an event of its own', '{"a":1}\n{"b":2}\n', [event('{"a":1}'), event('{"b":2}')]],
    ['a bare JSON line after data that lacks its blank line', 'data: a\n{"b":2}\n', [event('a'), event('{"b":2}')]],
    [
      'objects in lines of data as events of their own, with their name',
      'event: x\ndata: {"a":1}\nid: 1\ndata:{"b":{}}\ndata: [DONE]\n\ndata: c\n\n',
      [event('{"a":1}', 'x'), event('{"b":{}}\n[DONE]', 'x'), event('c')],
    ],
    ['an object of several lines as one', 'data: {\ndata: "a":\ndata: {}}\n\n', [event('{\n"a":\n{}}')]],
    ['a name of such objects once', 'event: x\ndata: {}\ndata: {}\n\n', [event('{}', 'x'), event('{}', 'x')]],
    ['blank lines at the start', '\n\n\ndata: a\n\n', [event('a')]],
  ])('%s', (_, text, messages) => {
    expect(read(text)).toEqual(messages);
  });

  it('the same with an empty piece between CR and LF', () => {
    const pieces = ['data: a\r', '', '\ndata: b\r', '', '\n\r\n'].map((text) => Buffer.from(text));
    expect(decode(pieces)).toEqual([event('a\nb')]);
  });

  it('the same with each of the three line ends, and with a mix', () => {
    const lines = ['event: x', 'data: é', 'data: 😀', '', ': c', 'data: b', '', ''];
    const expected = read(lines.join('\n'));
    for (const end of ['\r\n', '\r', '\n']) expect(read(lines.join(end))).toEqual(expected);
    const mixed = lines.map((line, index) => line + (['\r\n', '\r', '\n'][index % 3] ?? '')).join('');
    expect(read(mixed)).toEqual(expected);
  });

  it('the same however it is cut', () => {
    const bytes = Buffer.from('\ufeffevent: x\r\ndata: é😀\r\n\r\n: c\rdata: a\rdata: b\r\r{"n":1}\ndata: last');
    const expected = decode([bytes]);
    expect(expected).toHaveLength(5);
    for (const { how, pieces } of everyCut(bytes)) expect(decode(pieces), how).toEqual(expected);
  });

  it('as it was written, whatever was written (property)', () => {
    const line = fc.string({ unit: codePoint }).map((text) => text.replace(/[\r\n]/g, ' '));
    const one = fc.record({ lines: fc.array(line, { minLength: 1, maxLength: 3 }), name: fc.constantFrom(null, 'x') });
    const ends = fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 5 }), ends, fc.integer({ min: 1, max: 20 }), (events, lineEnds, size) => {
        let ended = 0;
        const end = () => lineEnds[ended++ % lineEnds.length] ?? '\n';
        let text = '';
        for (const { lines, name } of events) {
          if (name !== null) text += `event: ${name}${end()}`;
          for (const data of lines) text += `data: ${data}${end()}`;
          // A CR here and an LF next would be one line end, not two.
          text += '\n\n';
        }
        const expected = events.map(({ lines, name }) => event(Buffer.from(lines.join('\n')).toString(), name));
        expect(decode(inPiecesOf(size, Buffer.from(text)))).toEqual(expected);
      }),
    );
  });
});

describe('the size of an event is limited', () => {
  const limit = 100;
  const data = (size: number) => Buffer.from(`data: ${'x'.repeat(size - 'data: '.length)}\n\n`);

  it('an event of just that size is read', () => {
    expect(decode([data(limit)], limit)).toHaveLength(1);
  });

  it('one byte more is refused, however it is cut', () => {
    for (const { how, pieces } of everyCut(data(limit + 1)))
      expect(() => decode(pieces, limit), how).toThrow(SseLimitError);
  });

  it('its lines count together', () => {
    const lines = Buffer.from(`data: ${'x'.repeat(60)}\ndata: ${'x'.repeat(60)}\n\n`);
    for (const { how, pieces } of everyCut(lines)) expect(() => decode(pieces, limit), how).toThrow(SseLimitError);
  });

  it('the lines of one event count together, its name too', () => {
    const bytes = Buffer.from('event: error\ndata: first\ndata: second\n\n');
    const size = bytes.length - 4;
    expect(decode([bytes], size)).toEqual([event('first\nsecond', 'error')]);
    expect(() => decode([bytes], size - 1)).toThrow(SseLimitError);
    for (const pieceSize of [1, 5, 20]) {
      expect(decode(inPiecesOf(pieceSize, bytes), size)).toHaveLength(1);
      expect(() => decode(inPiecesOf(pieceSize, bytes), size - 1)).toThrow(SseLimitError);
    }
  });

  it('objects in lines of data are limited two by two, each with the name of all', () => {
    const [name, one] = ['event: x\n', 'data: {}\n'];
    expect(read(`${name}${one.repeat(9)}\n`, `${name}${one}${one}`.length)).toHaveLength(9);
    expect(() => read(`event: ${'x'.repeat(84)}\n${one}${one}`, limit)).toThrow(SseLimitError);
  });

  it('many events together may be larger', () => {
    const event = data(limit);
    expect(decode([Buffer.concat([event, event, event])], limit)).toHaveLength(3);
    expect(read('event: x\ndata: y\n\n'.repeat(9), 'event: x\ndata: y'.length - 1)).toHaveLength(9);
  });

  it('what came before it in the same piece is given first', () => {
    const decoder = new SseDecoder({ maxEventBytes: limit });
    expect(decoder.push(Buffer.concat([data(20), data(limit + 1), data(20)]))).toHaveLength(1);
    expect(() => decoder.finish()).toThrow(SseLimitError);
  });

  it('no more than that is held', () => {
    const decoder = new SseDecoder({ maxEventBytes: limit });
    for (const piece of inPiecesOf(7, data(limit))) {
      decoder.push(piece);
      expect(decoder.pending()).toBeLessThanOrEqual(limit);
    }
    expect(decoder.pending()).toBe(0);
    expect(() => {
      for (const piece of inPiecesOf(7, data(10 * limit))) decoder.push(piece);
    }).toThrow(SseLimitError);
    expect(decoder.pending()).toBe(0);
  });
});
