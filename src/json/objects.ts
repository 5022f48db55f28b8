import { JsonEnd } from './json-end.ts';

/** May another object begin in `text`, behind one that ends there or in what was `written` last? A cheap test. */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** The objects of a text that is nothing but objects behind each other; else the text itself. */
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

/** Such an object in front of others is a placeholder. */
export function isEmptyObject(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text);
}
