import { randomUUID } from 'node:crypto';
import { probeAgent } from './recording.ts';

/** Sends requests of the page to the proxy, as any client would. `key` is the client's `authorization`; null for none. */
export interface RequestSender {
  /**
   * Sends a body to a path of the API (`/v1/responses`). Resolves when the answer begins. Rejects when the proxy cannot be
   * reached, or when too many are in progress.
   */
  send(
    path: string,
    body: string,
    key: string | null,
  ): Promise<{ readonly status: number; readonly requestId: string }>;
  /** The names in the upstream's list of models. Rejects with the reason if there is none. */
  models(key: string | null): Promise<readonly string[]>;
  close(): void;
}

const maxRequestsUnderWay = 8;
const modelsTimeoutMs = 10_000;
const maxModelsBytes = 4 * 1024 * 1024;

/** `baseUrl` as OpenAI clients take it: `http://127.0.0.1:10000/v1`. */
export function createRequestSender(baseUrl: string, userAgent: string): RequestSender {
  const base = baseUrl.replace(/\/+$/, '');
  const stop = new AbortController();
  let underWay = 0;

  /** A prefix before `/v1` belongs to the proxy, where the base URL has nothing else there. */
  function urlOf(path: string): string {
    return base.endsWith('/v1') ? base.slice(0, -'/v1'.length) + path : base + path.slice(path.indexOf('/v1/') + 3);
  }

  /** The page sees the answer as an exchange like any other: here it is only read to its end. */
  async function readToEnd(response: Response): Promise<void> {
    for await (const _piece of response.body ?? []);
  }

  return {
    async send(path, body, key) {
      if (underWay >= maxRequestsUnderWay) throw new Error(`${maxRequestsUnderWay} requests are already under way.`);
      underWay += 1;
      const requestId = randomUUID();
      try {
        const response = await fetch(urlOf(path), {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'user-agent': userAgent,
            'x-request-id': requestId,
            ...(key === null ? {} : { authorization: key }),
          },
          body,
          signal: stop.signal,
        });
        void readToEnd(response)
          .catch(() => {}) // it ended early, as its exchange says
          .finally(() => {
            underWay -= 1;
          });
        return { status: response.status, requestId: response.headers.get('x-request-id') ?? requestId };
      } catch (error) {
        underWay -= 1;
        throw error;
      }
    },
    async models(key) {
      const response = await fetch(`${base}/models`, {
        // Not a user's request: it is not listed.
        headers: { 'user-agent': probeAgent, ...(key === null ? {} : { authorization: key }) },
        signal: AbortSignal.any([stop.signal, AbortSignal.timeout(modelsTimeoutMs)]),
      });
      const text = await textOf(response);
      if (!response.ok) throw new Error(`The upstream answered the request for its models with ${response.status}.`);
      return namesIn(text);
    },
    close: () => stop.abort(),
  };
}

async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > maxModelsBytes) throw new Error(`The list of models is longer than ${maxModelsBytes} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Throws for what is not a list of models. */
function namesIn(text: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  const data: unknown = (value as { readonly data?: unknown } | null | undefined)?.data;
  if (!Array.isArray(data)) throw new Error('The upstream’s answer is not a list of models.');
  const names = data.map((model: unknown) => (model as { readonly id?: unknown } | null)?.id);
  return names.filter((name) => typeof name === 'string');
}
