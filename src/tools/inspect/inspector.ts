import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AdminRoutes } from '../../service/server/admin.ts';
import { originProblem, securityHeaders, siteProblem } from './access.ts';
import { endpointOf } from './endpoint.ts';
import { requestFileOf } from './exchange-json.ts';
import type { ExchangeStore } from './exchange-store.ts';
import { createLivePages, sendExchange } from './live-pages.ts';
import { loadPage } from './page-files.ts';
import { maxRequestBytes } from './recording.ts';
import { searchBodies } from './search-bodies.ts';
import { createRequestSender } from './send-request.ts';
import { linkTurns } from './turn-links.ts';
import { createQueue } from './work-queue.ts';

export interface InspectorOptions {
  readonly store: ExchangeStore;
  readonly version: string;
  /** Base URL that the page's form sends requests to; null without one. */
  readonly sendTo: string | null;
  /** What tokens cost, as `INSPECT_PRICES` has it. */
  readonly prices: string;
  /** The output of `explain --json` for an exchange, given as its file's JSON. Rejects with its message if it fails. */
  readonly explain: (exchange: string, signal: AbortSignal) => Promise<string>;
}

/** The pages of the inspector on the admin port, everything below `/inspect`. */
export interface Inspector extends AdminRoutes {
  close(): void;
}

/** Explanations and searches that may wait. */
const maxWaiting = 16;
/** Characters that may be looked for. */
const maxSearchLength = 1000;

/** Rejects when the page was not built. */
export async function createInspector({
  store,
  version,
  sendTo,
  prices,
  explain,
}: InspectorOptions): Promise<Inspector> {
  const files = await loadPage();
  const pages = createLivePages(store);
  const sender = sendTo === null ? null : createRequestSender(sendTo, `responses-extproc/${version} inspector`);
  const queue = createQueue(maxWaiting);
  const about = { version, send_to: sendTo, prices, limits: store.limits };

  /** `/inspect/exchanges/7` and `/inspect/exchanges/7/events`. */
  function exchangePage(response: ServerResponse, id: number, live: boolean): void {
    const exchange = store.get(id);
    if (live) {
      if (!pages.openExchange(response, exchange)) sendText(response, 503, tooManyPages);
    } else if (exchange === undefined) sendText(response, 404, 'This exchange is no longer in memory.');
    else sendExchange(response, exchange);
  }

  /** Answers with the task's result as JSON, unless too many wait or the page has gone. */
  async function sendWork(
    response: ServerResponse,
    task: (signal: AbortSignal) => Promise<string>,
    failedStatus: number,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const work = queue.run(() => task(gone.signal), gone.signal);
    if (work === null) return sendText(response, 503, 'Too much is asked at once.');
    try {
      send(response, 200, 'application/json', Buffer.from(await work));
    } catch (error) {
      if (!gone.signal.aborted) sendText(response, failedStatus, reasonOf(error));
    }
  }

  /** `/inspect/exchanges/7/explanation` */
  function explanation(response: ServerResponse, id: number): Promise<void> | void {
    const exchange = store.get(id);
    if (exchange === undefined) return sendText(response, 404, 'This exchange is no longer in memory.');
    const task = (signal: AbortSignal) => explain(JSON.stringify(requestFileOf(exchange)), signal);
    return sendWork(response, task, 422);
  }

  /** `/inspect/search?text=…&ids=1,2,3` */
  function search(response: ServerResponse, query: URLSearchParams): Promise<void> | void {
    const text = query.get('text') ?? '';
    const ids = (query.get('ids') ?? '')
      .split(',')
      .map(Number)
      .filter(Number.isSafeInteger)
      .slice(0, store.limits.maxExchanges);
    if (text === '' || text.length > maxSearchLength)
      return sendText(response, 400, `text must have 1 to ${maxSearchLength} characters.`);
    const task = async (signal: AbortSignal) => JSON.stringify({ ids: await searchBodies(store, text, ids, signal) });
    return sendWork(response, task, 500);
  }

  async function sendFromForm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const problem = originProblem(request.headers);
    if (problem !== null) return sendText(response, 403, problem);
    if (sender === null) return sendText(response, 404, 'INSPECT_SEND_TO is not set.');
    const to = new URL(request.url ?? '', 'http://inspector').searchParams.get('path') ?? '/v1/responses';
    // Anything else could change the host of the base URL.
    if (!to.startsWith('/') || endpointOf('POST', to) === null)
      return sendText(response, 400, 'path must be one of the Responses API.');
    const body = await readBody(request, maxRequestBytes);
    if (body === null) return sendText(response, 413, `A request may have ${maxRequestBytes} bytes.`);
    try {
      const { status, requestId } = await sender.send(to, body, request.headers.authorization ?? null);
      sendJson(response, 200, { status, request_id: requestId });
    } catch (error) {
      sendText(response, 502, reasonOf(error));
    }
  }

  /** `/inspect/models` */
  async function sendModels(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (sender === null) return sendText(response, 404, 'INSPECT_SEND_TO is not set.');
    try {
      sendJson(response, 200, { models: await sender.models(request.headers.authorization ?? null), problem: null });
    } catch (error) {
      sendJson(response, 200, { models: [], problem: reasonOf(error) }); // many upstreams have no list
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (path === '/inspect/send')
      return request.method === 'POST' ? sendFromForm(request, response) : sendText(response, 405, 'only POST');
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'only GET');
    const file = files.get(path === '/inspect' ? '/inspect/' : path);
    if (file !== undefined) return send(response, 200, file.contentType, file.body);
    if (path === '/inspect/about') return sendJson(response, 200, about);
    if (path === '/inspect/events') return pages.openList(response) ? undefined : sendText(response, 503, tooManyPages);
    const [, id, part] = /^\/inspect\/exchanges\/(\d{1,15})(?:\/(events|explanation))?$/.exec(path) ?? [];
    const isWork = part === 'explanation' || works.has(path);
    // It costs this service or the upstream time, which another site must not be able to spend with a link or an image.
    const foreign = isWork ? siteProblem(request.headers) : null;
    if (foreign !== null) return sendText(response, 403, foreign);
    if (path === '/inspect/models') return sendModels(request, response);
    if (path === '/inspect/turns')
      return sendWork(response, async (signal) => JSON.stringify({ turns: await linkTurns(store, signal) }), 500);
    if (path === '/inspect/search') return search(response, new URLSearchParams(request.url?.split('?', 2)[1]));
    if (id === undefined) return sendText(response, 404, 'not found');
    if (part === 'explanation') return explanation(response, Number(id));
    exchangePage(response, Number(id), part === 'events');
  }

  return {
    handle(request, response) {
      const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
      if (path !== '/inspect' && !path.startsWith('/inspect/')) return false;
      answer(request, response, path).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendText(response, 500, reasonOf(error));
      });
      return true;
    },
    paths: ['/inspect'],
    close() {
      pages.close();
      sender?.close();
    },
  };
}

const works: ReadonlySet<string> = new Set(['/inspect/search', '/inspect/turns', '/inspect/models']);
const tooManyPages = 'Too many pages are open.';

/** An exception's message; for fetch, whose own message only says that it failed, that of its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** Null for a body that is too long. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > maxBytes) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, 'application/json', Buffer.from(JSON.stringify(value)));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, 'text/plain; charset=utf-8', Buffer.from(`${text}\n`));
}

function send(response: ServerResponse, status: number, contentType: string, body: Buffer): void {
  response.writeHead(status, { ...securityHeaders, 'content-type': contentType, 'content-length': body.length });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
