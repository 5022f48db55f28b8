import { request } from 'node:http';
import type { Resource } from './envoy-gateway.ts';

/** A request for a route of Envoy. */
export interface RouteSample {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** What a request needs for a route that matches this header. */
const headersFor: Readonly<Record<string, RouteSample['headers']>> = {
  upgrade: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  },
  'cdn-loop': { 'cdn-loop': 'responses-extproc,responses-extproc,responses-extproc' },
};

/**
 * Requests for every route of a route configuration: each host of its virtual host, each method, the path itself and one below it.
 * Throws for a match that it does not know, so that no route is left out.
 */
export function samplesOf(routeConfig: Resource): RouteSample[] {
  return (routeConfig['virtualHosts'] as Resource[]).flatMap(({ domains, routes }) =>
    (domains as string[]).flatMap((domain) =>
      (routes as Resource[]).flatMap(({ match }) => {
        const {
          path,
          pathSeparatedPrefix,
          prefix,
          safeRegex,
          headers = [],
          queryParameters = [],
          caseSensitive,
          ...unknown
        } = match;
        const everything = safeRegex?.regex === '/.*' ? '/' : undefined;
        const base: string | undefined = path ?? pathSeparatedPrefix ?? prefix ?? everything;
        if (base === undefined || Object.keys(unknown).length > 0 || caseSensitive === false)
          throw new Error(`No sample is known for this match: ${JSON.stringify(match)}`);
        const query = queryParameters.map(({ name }: Resource) => `${name}=1`).join('&');
        const paths = path === undefined ? [base, `${base.replace(/\/$/, '')}/below`] : [base];
        const needed = headers.length === 0 ? {} : headersFor[headers[0].name];
        if (needed === undefined || headers.length > 1)
          throw new Error(`No sample is known for ${JSON.stringify(headers)}`);
        return paths.flatMap((one) =>
          ('upgrade' in needed ? ['GET'] : methods).map((method) => ({
            host: domain.replace(/^\*$/, 'any.example').replace(/^\*\./, 'some.').replace(/:\*$/, ':8443'),
            method,
            path: query === '' ? one : `${one}?${query}`,
            headers: needed,
          })),
        );
      }),
    ),
  );
}

/** Sends it and returns the status of the answer; 101 for a WebSocket, which is closed at once. */
export function statusOf(
  url: string,
  { host, method, path, headers }: RouteSample,
  authorization?: string,
): Promise<number> {
  const body = method === 'POST' ? JSON.stringify({ model: 'm', input: 'Hi', messages: [] }) : '';
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, {
      method,
      agent: false,
      headers: {
        ...headers,
        host,
        ...(body !== '' && { 'content-type': 'application/json', 'content-length': body.length }),
        ...(authorization !== undefined && { authorization }),
      },
    })
      .once('response', (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      })
      .once('upgrade', (response, socket) => {
        socket.destroy();
        resolve(response.statusCode ?? 0);
      })
      .once('error', reject)
      .end(body);
  });
}
