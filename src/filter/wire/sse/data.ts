/** The parsed data of one event. `done`: the stream ends after these values. */
export type SseData =
  | { readonly type: 'values'; readonly values: readonly unknown[]; readonly done: boolean }
  | { readonly type: 'malformed' };

const malformed: SseData = { type: 'malformed' };

/**
 * Reads an event's data: `[DONE]` (some servers quote it), or JSON. Data of several lines is one value, or else one value
 * per line: some proxies put two chunks into one event, some servers omit all blank lines. Empty data has no value.
 */
export function readSseData(data: string): SseData {
  if (data.length < 32) {
    if (isDone(data)) return { type: 'values', values: [], done: true };
    if (data.trim() === '') return { type: 'values', values: [], done: false };
  }
  try {
    return { type: 'values', values: [JSON.parse(data)], done: false };
  } catch {
    return readLines(data.split('\n'));
  }
}

function readLines(lines: readonly string[]): SseData {
  const end = lines.findIndex(isDone);
  const before = end === -1 ? lines : lines.slice(0, end);
  try {
    const values = before.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
    return { type: 'values', values, done: end !== -1 };
  } catch {
    return malformed;
  }
}

function isDone(text: string): boolean {
  const trimmed = text.length < 32 ? text.trim() : text;
  return trimmed === '[DONE]' || trimmed === '"[DONE]"';
}
