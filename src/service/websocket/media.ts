import { skipSpace, valueEnd } from '../../formats/json/members.ts';

/** The fields of a part that hold what is not text, or refer to it, as they are written. */
const media = ['image_url', 'file_data', 'file_url', 'file_id', 'input_audio'].map((name) => Buffer.from(`"${name}"`));
/** Beyond these many of a kind they are read as text. */
const most = 10_000;

/**
 * The bytes of each image, file and recording among the items, which are JSON joined by commas. Inside a text the quotes of such a name have
 * backslashes.
 */
export function mediaBytesOf(items: Buffer): number[] {
  const found: number[] = [];
  for (const name of media) {
    let count = 0;
    for (let at = items.indexOf(name); at !== -1 && count < most; at = items.indexOf(name, at)) {
      const colonAt = skipSpace(items, at + name.length);
      at = colonAt;
      if (items[colonAt] !== colon) continue;
      const start = skipSpace(items, colonAt + 1);
      at = Math.max(valueEnd(items, start), start);
      found.push(at - start);
      count += 1;
    }
  }
  return found;
}

const colon = 0x3a;
