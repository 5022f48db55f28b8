import type { ExchangeRow } from '../exchange-json.ts';

/** The title of a row: the user's words, else the request's other content, the endpoint, or the path. */
export function writeRowTitle(row: ExchangeRow): string {
  return row.said ?? row.given ?? findOtherEndpoint(row) ?? writeRequestLine(row);
}

/** The words of a row beside its title: the model, tool results, the endpoint, and the called tools. */
export function listRowWords(row: ExchangeRow): readonly string[] {
  const title = writeRowTitle(row);
  const called = row.called.length === 0 ? null : `called ${row.called.join(', ')}`;
  const known = [row.model ?? writeRequestLine(row), row.given, findOtherEndpoint(row), called];
  return known.filter((text) => text !== null && text !== title) as string[];
}

export function hasFailed({ status }: ExchangeRow): boolean {
  return status !== null && status >= 400;
}

/** The endpoint's name, if it is not the Responses endpoint, which most rows have. */
function findOtherEndpoint({ endpoint }: ExchangeRow): string | null {
  return endpoint === 'responses' ? null : endpoint;
}

function writeRequestLine({ method, path }: ExchangeRow): string {
  return `${method ?? ''} ${path ?? ''}`.trim() || 'no request';
}
