/** A header on either side. */
export interface ComparedHeader {
  readonly name: string;
  readonly client: string | null;
  readonly chat: string | null;
}

type Header = { readonly name: string; readonly value: string };

/** The headers of both sides by name, those that differ first. */
export function compareHeaders(client: readonly Header[], chat: readonly Header[]): ComparedHeader[] {
  const names = [...new Set([...client, ...chat].map(({ name }) => name))];
  const valueIn = (headers: readonly Header[], wanted: string) =>
    headers.find(({ name }) => name === wanted)?.value ?? null;
  return names
    .map((name) => ({ name, client: valueIn(client, name), chat: valueIn(chat, name) }))
    .sort((a, b) => Number(a.client === a.chat) - Number(b.client === b.chat));
}
