import { describe, expect, it } from 'vitest';
import { ObjectScanner } from '../../../../src/translate/response/object-scanner.ts';

function scan(pieces: readonly string[]): boolean {
  const scanner = new ObjectScanner();
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

  it.each(['', ' ', '1', '"{}"', '[{}]', 'get {}'])('never: %j', (text) => {
    expect(scan([text])).toBe(false);
  });
});
