import type { ExchangeRow } from '../exchange-json.ts';

/** The title of a row: the user's words; without any, what the request has instead, what it asks for, or its path. */
export function titleOf(row: ExchangeRow): string {
  return row.said ?? row.given ?? otherEndpointOf(row) ?? requestLineOf(row);
}

/** The words of a row that its title does not have: the model, what follows the user's words, what is asked for, the tools that were called. */
export function aboutOf(row: ExchangeRow): readonly string[] {
  const title = titleOf(row);
  const called = row.called.length === 0 ? null : `called ${row.called.join(', ')}`;
  const known = [row.model ?? requestLineOf(row), row.given, otherEndpointOf(row), called];
  return known.filter((text) => text !== null && text !== title) as string[];
}

/** Whether the client got an error's status. */
export function hasFailed({ status }: ExchangeRow): boolean {
  return status !== null && status >= 400;
}

/** The name of the request's endpoint; null for Responses, which most rows of the list are. */
function otherEndpointOf({ endpoint }: ExchangeRow): string | null {
  return endpoint === 'responses' ? null : endpoint;
}

function requestLineOf({ method, path }: ExchangeRow): string {
  return `${method ?? ''} ${path ?? ''}`.trim() || 'no request';
}
