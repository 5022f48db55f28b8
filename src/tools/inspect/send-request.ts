import { randomUUID } from 'node:crypto';
import { objectOf, objectsOf } from '../../formats/json/loose.ts';
import { parseBounded } from '../../formats/json/scan.ts';
import { probeAgent } from './recording.ts';

const maxRequestsUnderWay = 8;
const modelsTimeoutMs = 10_000;
const maxModelsBytes = 4 * 1024 * 1024;
/** The most values of a model list that is parsed. Some hosts list thousands of models, with a dozen fields each. */
const maxModelsValues = 200_000;
const noBytes = Buffer.alloc(0);

/**
 * Sends requests of the page to the proxy, as any client would. `baseUrl` is as OpenAI clients take it:
 * `http://127.0.0.1:10000/v1`; `key` is the client's `authorization`.
 */
export function createRequestSender(baseUrl: string, userAgent: string) {
  const base = baseUrl.replace(/\/+$/, '');
  const stop = new AbortController();
  let underWay = 0;

  /** Builds a URL of the proxy. A prefix before `/v1` belongs to the proxy, if the base URL ends there. */
  function buildUrl(path: string): string {
    return base.endsWith('/v1') ? base.slice(0, -'/v1'.length) + path : base + path.slice(path.indexOf('/v1/') + 3);
  }

  return {
    /**
     * Sends a body to a path of the API (`/v1/responses`). Resolves when the answer begins. Rejects when the proxy cannot be
     * reached, or when too many are in progress.
     */
    async send(path: string, body: string, key: string | null) {
      if (underWay >= maxRequestsUnderWay) throw new Error(`${maxRequestsUnderWay} requests are already under way.`);
      underWay += 1;
      const ended = () => {
        underWay -= 1;
      };
      const requestId = randomUUID();
      const headers = { 'content-type': 'application/json', 'user-agent': userAgent, 'x-request-id': requestId };
      const sent = fetch(buildUrl(path), {
        method: 'POST',
        headers: key === null ? headers : { ...headers, authorization: key },
        body,
        signal: stop.signal,
      });
      // The page sees the answer as a recorded exchange: here it is only read to its end.
      sent.then((response) => response.body?.pipeTo(new WritableStream())).then(ended, ended);
      const { status, headers: given } = await sent;
      return { status, request_id: given.get('x-request-id') ?? requestId };
    },
    /** Asks for the names in the upstream's model list. Rejects with the reason if there is none. */
    async models(key: string | null): Promise<readonly string[]> {
      const response = await fetch(`${base}/models`, {
        // With this user agent the request is not recorded.
        headers: { 'user-agent': probeAgent, ...(key === null ? {} : { authorization: key }) },
        signal: AbortSignal.any([stop.signal, AbortSignal.timeout(modelsTimeoutMs)]),
      });
      const list = response.body === null ? noBytes : await readAtMost(maxModelsBytes, response.body);
      if (list === null) throw new Error(`The list of models is longer than ${maxModelsBytes} bytes.`);
      if (!response.ok) throw new Error(`The upstream answered the request for its models with ${response.status}.`);
      const data = readListData(list.toString());
      if (!Array.isArray(data)) throw new Error('The upstream’s answer is not a list of models.');
      const names = objectsOf<{ id?: unknown }>(data).map(({ id }) => id);
      return names.filter((name) => typeof name === 'string');
    },
    close: () => stop.abort(),
  };
}

function readListData(json: string): unknown {
  try {
    return objectOf<{ data?: unknown }>(parseBounded(json, maxModelsValues))?.data;
  } catch {
    return undefined;
  }
}

export async function readAtMost(maxBytes: number, pieces: AsyncIterable<Uint8Array>): Promise<Buffer | null> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > maxBytes) return null;
    read.push(piece);
  }
  return Buffer.concat(read);
}
