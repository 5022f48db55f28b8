import { createHash } from 'node:crypto';

/**
 * The Chat name of a tool in a namespace: `namespace__name`. Where that is not a legal name, characters that are not
 * allowed become `_` and a hash keeps it unique. The same names always give the same result, in later requests too.
 */
export function flattenToolName(namespace: string, name: string): string {
  const flat = `${namespace}__${name}`;
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(flat)) return flat;
  const hash = createHash('sha256').update(`${namespace}\n${name}`).digest('hex').slice(0, 8);
  return `${flat.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 55)}_${hash}`;
}
