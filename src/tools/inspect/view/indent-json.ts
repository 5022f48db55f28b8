import { parseShown } from './timeline.ts';

/** Adds line breaks to a JSON text. The text stays as it is if a number would lose digits. */
export function indentJsonText(json: string): string {
  const value = parseShown(json);
  if (value === null) return json;
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '');
  const safe = !/\d{16}|\d[eE.]/.test(numbers);
  return safe ? writeIndentedJson(value) : json.trim().replaceAll(/\n\s*/g, ' ');
}

export function writeIndentedJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
