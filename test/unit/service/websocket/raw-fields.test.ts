import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxFields, readRawFields } from '../../../../src/service/websocket/raw-fields.ts';
import { perform, startWebSocketSession } from '../../../support/websocket-session.ts';

const read = (text: string) => {
  const fields = readRawFields(Buffer.from(text), 1000);
  return fields === null ? null : Object.fromEntries([...fields].map(([name, raw]) => [name, String(raw)]));
};

describe('the fields of a message', () => {
  it('are found in whatever is a JSON object, each as it was written', () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
        const fields = read(JSON.stringify(object, null, indent)) ?? {};
        const parsed = Object.entries(fields).map(([name, raw]) => [name, JSON.parse(raw)]);
        expect(Object.fromEntries(parsed)).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  it.each([
    '',
    ' ',
    '[]',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{a:1}',
    '{"a" 1}',
    '{"a":}',
    '{"a":"',
    '{"a":[}',
    '{}x',
    '{"\\x":1}',
    '[1]',
  ])('are not found in %j', (text) => {
    expect(read(text)).toBeNull();
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'{}[]",:\\ 1a'), { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const isObject = (() => {
          try {
            const value: unknown = JSON.parse(text);
            return typeof value === 'object' && value !== null && !Array.isArray(value);
          } catch {
            return false;
          }
        })();
        // What is JSON is read; what is not may be, and is refused where it is used.
        if (isObject) expect(read(text)).not.toBeNull();
        else expect(() => read(text)).not.toThrow();
      }),
    );
  });

  it('are limited in number before each takes memory, and the connection stays usable', () => {
    const session = startWebSocketSession();
    const message = (fields: number) =>
      `{"type":"response.create",${Array.from({ length: fields - 1 }, (_, index) => `"f${index}":0`).join()}}`;
    perform(session, `client: ${message(maxFields + 1)}`);
    expect(session.take()).toEqual([
      'refused: request_too_large',
      'server: {"type":"error","status":413,"error":{"type":"invalid_request","code":"request_too_large","param":null,"message":"The message has too many fields: more than 1000."}}',
      'ended: error',
    ]);
    perform(session, `client: ${message(maxFields)}`);
    expect(session.take()).toEqual([expect.stringMatching(/^turn \d: \{"f0":0,/)]);
  });
});
