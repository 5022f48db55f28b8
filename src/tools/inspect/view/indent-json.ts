import { parsed } from './timeline.ts';

/** JSON with line breaks; unchanged if a number would lose digits. */
export function prettyText(json: string): string {
  const value = parsed(json);
  if (value === null) return json;
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '');
  const safe = !/\d{16}|\d[eE.]/.test(numbers);
  return safe ? pretty(value) : json.trim().replaceAll(/\n\s*/g, ' ');
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
