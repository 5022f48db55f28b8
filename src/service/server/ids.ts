import { randomUUID } from 'node:crypto';
import type { ExchangeOptions } from '../../filter/index.ts';

/**
 * Ids with OpenAI's prefixes: `resp_` and 32 hexadecimal digits. The first half counts up, so that the items of a response
 * sort as they were made (haystack orders streamed calls by item id); the other half is random.
 */
export const newId: ExchangeOptions['clock']['newId'] = (prefix) => {
  // Node keeps random bytes for these: the system call costs more than everything else here.
  const random = randomUUID();
  return `${prefix}_${nextInOrder()}${random.slice(0, 8)}${random.slice(-8)}`;
};

/** Ids of one millisecond. */
const maxCount = 0xffff;
let time = 0;
let count = 0;
let timeDigits = '';

/**
 * Twelve digits of the time in milliseconds and four of a counter. Setting the clock back does not change the order.
 */
function nextInOrder(): string {
  const now = Date.now();
  if (now > time || count === maxCount) {
    time = Math.max(now, time + 1);
    count = 0;
    timeDigits = time.toString(16).padStart(12, '0');
  } else count += 1;
  return timeDigits + count.toString(16).padStart(4, '0');
}
