import { randomUUID } from 'node:crypto';

/** Sends a request of the page's form to the proxy, as any client would. */
export interface RequestSender {
  /** Resolves when the answer begins. Rejects when the proxy cannot be reached, or when too many are under way. */
  send(body: string): Promise<{ readonly status: number; readonly requestId: string }>;
  close(): void;
}

const maxRequestsUnderWay = 8;

/** `baseUrl` as OpenAI clients take it: `http://127.0.0.1:10000/v1`. */
export function createRequestSender(baseUrl: string, userAgent: string): RequestSender {
  const stop = new AbortController();
  let underWay = 0;

  /** The page sees the answer as an exchange like any other: here it is only read to its end. */
  async function readToEnd(response: Response): Promise<void> {
    for await (const _piece of response.body ?? []);
  }

  return {
    async send(body) {
      if (underWay >= maxRequestsUnderWay) throw new Error(`${maxRequestsUnderWay} requests are under way already.`);
      underWay += 1;
      const requestId = randomUUID();
      try {
        const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'user-agent': userAgent, 'x-request-id': requestId },
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
    close: () => stop.abort(),
  };
}
