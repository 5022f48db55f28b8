import { scanJson } from './scan.ts';

/**
 * Levels of foreign JSON that is parsed to be written again. `JSON.stringify` calls itself for each of them, and Node 24's stack ends at
 * some 5,000. An item of this service's own answers may have 2,500.
 */
const maxNesting = 3_000;

/**
 * The value of foreign JSON that `JSON.stringify` can write. Throws `SyntaxError` if the text is not JSON, `RangeError` if it holds more than
 * `maxValues` values or is nested too deep. A text that is too short for either is not scanned.
 */
export function parseBounded(text: string, maxValues: number): unknown {
  if (text.length > Math.min(maxValues, 2 * maxNesting)) {
    const { values, tooDeepAt } = scanJson(text, { maxValues, maxNesting });
    if (values > maxValues) throw new RangeError(`The message holds too many values: more than ${maxValues}.`);
    if (tooDeepAt !== null) throw new RangeError(`The message is nested too deep: more than ${maxNesting} levels.`);
  }
  return JSON.parse(text);
}
