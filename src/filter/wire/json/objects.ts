import { JsonEnd } from './json-end.ts';

/** Might another object begin in `text`, after one that ends there or at the end of `written`? A cheap test. */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** The objects of a text that consists of concatenated objects; else the text itself. */
export function objectsIn(text: string): readonly string[] {
  const objects: string[] = [];
  let rest = text;
  while (mayBeginObject(rest, '')) {
    const end = new JsonEnd('object').push(rest);
    const next = end === -1 ? '' : rest.slice(end).trimStart();
    if (!next.startsWith('{') || isEmptyObject(rest.slice(0, end))) break;
    objects.push(rest.slice(0, end));
    rest = next;
  }
  return [...objects, rest];
}

/** Before others, such an object is a placeholder. */
export function isEmptyObject(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text);
}
