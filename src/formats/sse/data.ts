import { SseLimitError } from './sse-decoder.ts';

/** The parsed data of one event. `done`: the stream ends after these values. */
export interface SseData {
  readonly values: readonly unknown[];
  readonly done: boolean;
}

/**
 * Reads an event's data: `[DONE]`, which some servers quote, or JSON; null for anything else. Lines are one value together, or one value each
 * where a server omits the blank line in front of `[DONE]`. Empty lines and comments have no value. Throws `SseLimitError`.
 */
export function readSseData(data: string, maxLines = Number.POSITIVE_INFINITY): SseData | null {
  if (data.length < 32) {
    if (isDone(data)) return { values: [], done: true };
    if (data.trim() === '') return { values: [], done: false };
  }
  try {
    return { values: [JSON.parse(data)], done: false };
  } catch {
    return readLines(data, maxLines);
  }
}

/** Reads line by line, so that no value is made of what follows a line that is not JSON. */
function readLines(data: string, maxLines: number): SseData | null {
  const values: unknown[] = [];
  let lines = 0;
  for (let start = 0; start <= data.length; lines += 1) {
    if (lines === maxLines) throw new SseLimitError(`An event of the upstream has more than ${maxLines} lines.`);
    const lineFeed = data.indexOf('\n', start);
    const end = lineFeed === -1 ? data.length : lineFeed;
    const line = data.slice(start, end);
    if (isDone(line)) return { values, done: true };
    start = end + 1;
    if (line.trim() === '' || isCommentInData(line)) continue;
    try {
      values.push(JSON.parse(line));
    } catch {
      return null;
    }
  }
  return { values, done: false };
}

/** Is the data a comment, as gateways send to keep a connection open? A colon before a JSON object is none: it may be a damaged byte. */
export function isCommentInData(text: string): boolean {
  return text.trimStart().startsWith(':') && !/\{\s*"/.test(text);
}

function isDone(text: string): boolean {
  const trimmed = text.length < 32 ? text.trim() : text;
  return trimmed === '[DONE]' || trimmed === '"[DONE]"';
}
