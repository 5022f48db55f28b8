import { describe, expect, it } from 'vitest';
import { JsonEnd } from '../../../../src/formats/json/json-end.ts';

function scan(pieces: readonly string[]): boolean {
  const scanner = new JsonEnd('object');
  for (const piece of pieces) scanner.push(piece);
  return scanner.isWhole();
}

const values = [{}, { a: '}"{' }, { a: [1, [{}, '\\'], { b: '\\"' }] }, { '"}': null, c: '漢字😀\n' }];

describe('an object is whole', () => {
  it.each(values.map((value) => [JSON.stringify(value)]))(
    '%s at its last brace and not before, cut anywhere',
    (json) => {
      for (let end = 0; end <= json.length; end++) expect(scan([json.slice(0, end)])).toBe(end === json.length);
      for (let cut = 0; cut <= json.length; cut++) expect(scan([json.slice(0, cut), json.slice(cut)])).toBe(true);
      expect(scan([` \n${json}\n `])).toBe(true);
    },
  );

  it.each(['', ' ', '1', '"{}"', '[{}]', 'get {}', '{"a":"b"]', '{"a":1]}'])('never: %j', (text) => {
    expect(scan([text])).toBe(false);
  });
});

describe('a body is whole', () => {
  const json = JSON.stringify({ a: '}"\\', b: ['x'.repeat(200), 'y'.repeat(99), '漢"字'], c: { d: '\\' } });
  const bytes = Buffer.from(json);

  it.each([1, 2, 3, 7, 64, 65, 1000])('at its last bracket, in pieces of %i bytes', (size) => {
    const end = new JsonEnd('any');
    for (let at = 0; at < bytes.length; at += size) {
      expect(end.isWhole()).toBe(false);
      end.pushBytes(bytes.subarray(at, at + size));
    }
    expect(end.isWhole()).toBe(true);
    end.pushBytes(Buffer.from('{'));
    expect(end.isWhole()).toBe(true);
  });

  it.each(['[{}, []]', '\ufeff{"a":1}', ' {} '])('whatever it begins with: %j', (text) => {
    const end = new JsonEnd('any');
    end.pushBytes(Buffer.from(text));
    expect(end.isWhole()).toBe(true);
  });

  it.each(['', '"{}"', '1', '{"a":[', 'null'])('never: %j', (text) => {
    const end = new JsonEnd('any');
    end.pushBytes(Buffer.from(text));
    expect(end.isWhole()).toBe(false);
  });

  it('a string without an end costs no more than its length', () => {
    const end = new JsonEnd('any');
    end.pushBytes(Buffer.from(`{"a":"${'x'.repeat(4_000_000)}`));
    expect(end.isWhole()).toBe(false);
    end.pushBytes(Buffer.from('"}'));
    expect(end.isWhole()).toBe(true);
  });
});
