import { routeOf } from '../../filter/exchange/request/route.ts';

/**
 * The operation that a request asks for, by the last word of its path (`responses`, `compact`); null if the path alone makes it
 * pass or be refused.
 */
export function endpointOf(method: string, path: string): string | null {
  const route = routeOf(
    new Map([
      [':method', method],
      [':path', path],
    ]),
  );
  return route.type === 'translate' ? (route.operation.path.at(-1) ?? null) : null;
}
