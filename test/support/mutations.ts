import * as fc from 'fast-check';

/** Pieces that have broken readers: names that every object has, ends of lines, brackets without a partner, numbers, bad UTF-8. */
const pieces = [
  ...[
    'constructor',
    '__proto__',
    'toString',
    'null',
    '{}',
    '[]',
    '{',
    ']',
    '"',
    ':',
    ',',
    '\r\n',
    '\n\n',
    '\0',
    '\u2028',
  ],
  ...['-1', '1e999', '99999999999999999999', 'data: ', 'event: ', '\\ud800', '%', '//', '@', ' '],
].map((text) => Buffer.from(text));
const badUtf8 = Buffer.from([0xff, 0xc3, 0x28]);

type Change = (bytes: Buffer) => Buffer;

const place = fc.double({ min: 0, max: 1, noNaN: true });
const at = (bytes: Buffer, share: number) => Math.floor(share * bytes.length);
const splice = (bytes: Buffer, start: number, end: number, inserted: Uint8Array) =>
  Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(end)]);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, fc.constantFrom(...pieces, badUtf8)).map(
    ([where, piece]): Change =>
      (bytes) =>
        splice(bytes, at(bytes, where), at(bytes, where), piece),
  ),
  fc.tuple(place, place).map(
    ([where, length]): Change =>
      (bytes) => {
        const start = at(bytes, where);
        return splice(bytes, start, start + Math.ceil(length * 20), Buffer.alloc(0));
      },
  ),
  fc.tuple(place, fc.integer({ min: 0, max: 7 })).map(
    ([where, bit]): Change =>
      (bytes) => {
        const changed = Buffer.from(bytes);
        const index = at(bytes, where);
        if (index < changed.length) changed[index] = (changed[index] ?? 0) ^ (1 << bit);
        return changed;
      },
  ),
  fc.tuple(place, place).map(
    ([where, from]): Change =>
      (bytes) =>
        splice(bytes, at(bytes, where), at(bytes, where), bytes.subarray(at(bytes, from), at(bytes, from) + 40)),
  ),
  place.map(
    (where): Change =>
      (bytes) =>
        bytes.subarray(0, at(bytes, where)),
  ),
);

/** One of the samples with up to four changes, or bytes without any order. */
export function mutated(samples: readonly (string | Uint8Array)[]): fc.Arbitrary<Buffer> {
  const changed = fc
    .tuple(fc.constantFrom(...samples), fc.array(change, { maxLength: 4 }))
    .map(([sample, changes]) => changes.reduce<Buffer>((bytes, apply) => apply(bytes), Buffer.from(sample as string)));
  return fc.oneof(
    { weight: 9, arbitrary: changed },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  );
}
