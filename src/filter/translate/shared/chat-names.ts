import { createHash } from 'node:crypto';
import type { Profile } from '../../upstream/profile.ts';

/**
 * The Chat name of a tool: its own, or `namespace__name`. A name that is longer than the server takes is shortened, and in a
 * namespace characters that are not allowed become `_`; a hash keeps the name unique. The same name always gives the same result.
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

/**
 * Some servers restart the numbers of calls with each message (`call_0`, `functions.bash:0`), so that an id recurs in a
 * conversation, and agents that index outputs by id mistake one call for another. Such an id is made unique for the client
 * by a suffix, which is removed before the server sees it.
 */
const suffix = /_repeat\d{1,6}$/;

/** Characters that the API allows an id to have. */
const maxLength = 64;

/** The server's id, made different from all that are `taken`; null if no such id would be short enough. */
export function uniqueCallId(given: string, taken: (id: string) => boolean): string | null {
  let id = given;
  for (let times = 2; taken(id); times++) id = `${given}_repeat${times}`;
  return id === given || id.length <= maxLength ? id : null;
}

export function upstreamCallId(id: string): string {
  return id.replace(suffix, '');
}
