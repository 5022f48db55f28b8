import { type ClientBytes, LongBody } from '../../src/filter/exchange/response/delivery.ts';

/** All of it at once. */
export function wholeOf(bytes: ClientBytes): Buffer {
  return bytes instanceof LongBody ? Buffer.concat([...bytes]) : bytes;
}
