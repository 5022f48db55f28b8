/**
 * Some servers number calls anew in each turn (`call_0`, `functions.bash:0`), so that an id comes again in a conversation, and
 * agents that file outputs by id mistake one call for another. Such an id is made unique for the client by a suffix, which is
 * taken off again before the server reads it.
 */
const suffix = /_repeat\d{1,6}$/;

/** Characters that the API allows an id to have. */
const maxLength = 64;

/** The server's id, made different from all of `taken`; null where no id of it would be short enough. */
export function uniqueCallId(given: string, taken: (id: string) => boolean): string | null {
  let id = given;
  for (let times = 2; taken(id); times++) id = `${given}_repeat${times}`;
  return id === given || id.length <= maxLength ? id : null;
}

/** The id as its server gave it. */
export function upstreamCallId(id: string): string {
  return id.replace(suffix, '');
}
