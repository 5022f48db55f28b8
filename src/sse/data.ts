/** What the data of one event holds. */
export type SseData =
  | { readonly type: 'values'; readonly values: readonly unknown[] }
  | { readonly type: 'done' }
  | { readonly type: 'malformed' };

const done: SseData = { type: 'done' };
const malformed: SseData = { type: 'malformed' };

/**
 * Reads an event's data: `[DONE]` (some servers quote it), or JSON. Data of several lines is one value; where it is
 * not, each line may be one: some proxies put two chunks into one event. Empty data holds no value.
 */
export function readSseData(data: string): SseData {
  if (data.length < 32) {
    const text = data.trim();
    if (text === '[DONE]' || text === '"[DONE]"') return done;
    if (text === '') return { type: 'values', values: [] };
  }
  try {
    return { type: 'values', values: [JSON.parse(data)] };
  } catch {
    return data.includes('\n') ? readLines(data.split('\n')) : malformed;
  }
}

function readLines(lines: readonly string[]): SseData {
  try {
    return { type: 'values', values: lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line)) };
  } catch {
    return malformed;
  }
}
