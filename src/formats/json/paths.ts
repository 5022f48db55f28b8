/** Returns the path with `[]` for each place in a list: `input[].content`. */
export function generalOf(path: string): string {
  return path.replaceAll(/\[\d+\]/g, '[]');
}

/** Is a path of a JSON value (`input[3].content`) the other one, or inside it? */
export function isWithin(path: string, other: string): boolean {
  return path.startsWith(other) && (path.length === other.length || /[.[]/.test(path[other.length] ?? ''));
}
