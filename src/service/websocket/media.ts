import { Buffer } from 'node:buffer';
import { type ByteRange, type Member, membersOf } from '../../formats/json/members.ts';

/** Items, fields and parts beyond these many are read as text. */
const most = { items: 10_000, fields: 100, parts: 1000 };
/** The field of an item that lists its parts. */
const lists = new Set(['content', 'output']);
/** The field of a part that holds what is not text, or refers to it. */
const media = new Set(['image_url', 'file_data', 'file_url', 'file_id', 'input_audio']);

/** The bytes of each image, file and recording among the items, which are JSON joined by commas. */
export function mediaBytesOf(items: Buffer): number[] {
  const bytes = Buffer.concat([open, items, close]);
  const inside = (range: ByteRange, limit: number): readonly Member[] =>
    membersOf(bytes, range.start, limit)?.members ?? [];
  return inside({ start: 0, end: bytes.length }, most.items)
    .flatMap((item) => inside(item, most.fields).filter(({ name }) => lists.has(name)))
    .flatMap((list) => inside(list, most.parts))
    .flatMap((part) => {
      const medium = inside(part, most.fields).find(({ name }) => media.has(name));
      return medium === undefined ? [] : [medium.end - medium.start];
    });
}

const open = Buffer.from('[');
const close = Buffer.from(']');
