/** Might another object begin in `text`, after one that ends there or at the end of `written`? A cheap test. */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** Before others, such an object is a placeholder. */
export function isEmptyObject(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text);
}
