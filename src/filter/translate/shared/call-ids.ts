/**
 * Some servers restart the numbers of calls in each turn (`call_0`, `functions.bash:0`), so that an id recurs in a
 * conversation, and agents that index outputs by id mistake one call for another. Such an id is made unique for the client
 * by a suffix, which is removed before the server sees it.
 */
const suffix = /_repeat\d{1,6}$/;

/** Characters that the API allows an id to have. */
const maxLength = 64;

/** The server's id, made different from all of `taken`; null if no such id would be short enough. */
export function uniqueCallId(given: string, taken: (id: string) => boolean): string | null {
  let id = given;
  for (let times = 2; taken(id); times++) id = `${given}_repeat${times}`;
  return id === given || id.length <= maxLength ? id : null;
}

/** The id as the server assigned it. */
export function upstreamCallId(id: string): string {
  return id.replace(suffix, '');
}
