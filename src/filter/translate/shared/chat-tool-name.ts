import { createHash } from 'node:crypto';
import type { Profile } from '../../upstream/profile.ts';

/**
 * The Chat name of a tool: its own, or `namespace__name`. One that is longer than the server takes is shortened, and in a
 * namespace characters that are not allowed become `_`; a hash keeps it unique. The same names always give the same result,
 * in later requests too.
 */
export function chatToolName(
  name: string,
  namespace: string | null | undefined,
  { maxToolName }: Pick<Profile, 'maxToolName'>,
): string {
  const isOwn = namespace == null || namespace === '';
  const flat = isOwn ? name : `${namespace}__${name}`;
  if (flat.length <= maxToolName && (isOwn || /^[a-zA-Z0-9_-]+$/.test(flat))) return flat;
  const hash = createHash('sha256')
    .update(isOwn ? name : `${namespace}\n${name}`)
    .digest('hex')
    .slice(0, 8);
  return `${flat.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxToolName - 9)}_${hash}`;
}
