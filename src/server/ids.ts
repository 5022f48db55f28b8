import { randomFillSync } from 'node:crypto';
import type { NewId } from '../translate/context.ts';

/** Random ids with OpenAI's prefixes: `resp_` and 32 hexadecimal digits. */
export const newId: NewId = (prefix) => {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += idBytes;
  return `${prefix}_${random.toString('hex', used - idBytes, used)}`;
};

const idBytes = 16;
/** Filled a page at a time: the system call costs more than everything else here. */
const random = Buffer.alloc(256 * idBytes);
let used = random.length;
