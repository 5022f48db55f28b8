import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { buildExchangePart, findEndpoint } from './exchange-json.ts';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';
import { createExplainOnce, type Explainer } from './explain-once.ts';
import { createListEvents } from './list-events.ts';
import { type BodyName, bodyNames, maxBodyBytes } from './recording.ts';
import { createRequestSender, readAtMost } from './send-request.ts';

export interface InspectorOptions {
  readonly store: ExchangeStore;
  readonly version: string;
  /** The base URL that the page's form sends requests to; null for a page without a form. */
  readonly sendTo: string | null;
  readonly explainer: Explainer;
}

export type Inspector = ReturnType<typeof createInspector>;

const maxPages = 32;
const maxSearchLength = 1000;

/** Creates the inspector. It throws if a file of the bundled page is missing. */
export function createInspector(options: InspectorOptions) {
  const { store, version, sendTo, explainer } = options;
  const pageFile = loadPage();
  const listEvents = createListEvents(store);
  const open = new Set<ServerResponse>();
  const form = createForm(options);
  const explained = createExplainOnce(explainer);
  const about = { version, send_to: sendTo, limits: store.limits };

  /**
   * Answers `/inspect/events?find=…` with the list, for as long as the page is open. Nothing is queued for a page that
   * does not read.
   */
  function follow(response: ServerResponse, text: string): void {
    if (open.size >= maxPages) {
      sendText(response, 503, 'Too many pages are open.');
      return;
    }
    open.add(response);
    explainer.prepare();
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
    const gone = createGoneSignal(response);
    gone.addEventListener('abort', () => {
      open.delete(response);
      if (open.size === 0) explainer.rest();
    });
    pipeline(Readable.from(listEvents(text, gone), { highWaterMark: 1 }), response).catch(() => response.destroy());
  }

  /** Answers `/inspect/exchanges/7?from=1,1,20,60,0` with the next part, after so many pieces of each body. */
  function sendPart(response: ServerResponse, exchange: StoredExchange, from: string): void {
    const counts = from.split(',').map((text) => Number(text) || 0);
    const start = Object.fromEntries(bodyNames.map((name, index) => [name, counts[index] ?? 0]));
    sendJson(response, 200, buildExchangePart(exchange, start as Record<BodyName, number>));
  }

  async function sendExplanation(response: ServerResponse, exchange: StoredExchange): Promise<void> {
    const gone = createGoneSignal(response);
    try {
      const gzip = await explained(exchange, gone);
      if (gzip === null) return sendText(response, 503, 'Too much is explained at once.');
      response.setHeader('content-encoding', 'gzip');
      send(response, 200, 'application/json', gzip);
    } catch (error) {
      if (!gone.aborted) sendText(response, 422, readErrorReason(error));
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { pathname: path, searchParams } = url;
    if (path === '/inspect/send') return form.send(request, response, searchParams.get('path') ?? '/v1/responses');
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'only GET');
    const file = await pageFile(path === '/inspect' ? '/inspect/' : path);
    if (file !== undefined) return send(response, 200, file.contentType, file.body);
    // The rest costs this service or the upstream time, which another site must not be able to spend with a link or an image.
    const foreign = findSiteProblem(request.headers);
    if (foreign !== null) return sendText(response, 403, foreign);
    if (path === '/inspect/about') return sendJson(response, 200, about);
    if (path === '/inspect/events') return follow(response, (searchParams.get('find') ?? '').slice(0, maxSearchLength));
    if (path === '/inspect/models') return form.models(request, response);
    const [, id, part] = /^\/inspect\/exchanges\/(\d{1,15})(\/explanation)?$/.exec(path) ?? [];
    if (id === undefined) return sendText(response, 404, 'not found');
    const exchange = store.get(Number(id));
    if (exchange === undefined) return sendText(response, 404, 'This exchange is no longer in memory.');
    if (part !== undefined) return sendExplanation(response, exchange);
    sendPart(response, exchange, searchParams.get('from') ?? '');
  }

  return {
    handle(request: IncomingMessage, response: ServerResponse) {
      const url = URL.parse(request.url ?? '/', 'http://inspector');
      if (url === null || !/^\/inspect(\/|$)/.test(url.pathname)) return false;
      answer(request, response, url).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendText(response, 500, readErrorReason(error));
      });
      return true;
    },
    paths: ['/inspect'],
    close() {
      for (const response of open) response.destroy();
      explainer.close();
      form.close();
    },
  };
}

/** Creates what answers the page's form: it sends requests to the proxy. Without an address there is no form. */
function createForm({ sendTo, version }: InspectorOptions) {
  const sender = sendTo === null ? null : createRequestSender(sendTo, `responses-extproc/${version} inspector`);
  return {
    /** Answers `/inspect/send?path=/v1/responses`: sends the form's request to the proxy. */
    async send(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
      if (request.method !== 'POST') return sendText(response, 405, 'only POST');
      const problem = findOriginProblem(request.headers);
      if (problem !== null) return sendText(response, 403, problem);
      if (sender === null) return sendText(response, 404, 'INSPECT_SEND_TO is not set.');
      // Any other path could change the host of the base URL.
      if (!path.startsWith('/') || findEndpoint('POST', path) === null)
        return sendText(response, 400, 'path must be one of the Responses API.');
      const body = await readAtMost(maxBodyBytes, request);
      if (body === null) return sendText(response, 413, `A request may have ${maxBodyBytes} bytes.`);
      try {
        sendJson(response, 200, await sender.send(path, body.toString(), request.headers.authorization ?? null));
      } catch (error) {
        sendText(response, 502, readErrorReason(error));
      }
    },

    async models(request: IncomingMessage, response: ServerResponse): Promise<void> {
      if (sender === null) return sendText(response, 404, 'INSPECT_SEND_TO is not set.');
      try {
        sendJson(response, 200, { models: await sender.models(request.headers.authorization ?? null), problem: null });
      } catch (error) {
        sendJson(response, 200, { models: [], problem: readErrorReason(error) }); // many upstreams have no list
      }
    },
    close: () => sender?.close(),
  };
}

function createGoneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

/** An exception's message; for fetch, whose own message only says that it failed, that of its cause. */
function readErrorReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
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

/**
 * Sent with every response of the inspector. The page loads only its own two files, runs no inline script, frames nothing
 * and cannot be framed; `nosniff` keeps a browser from treating a model's text as a page.
 */
export const securityHeaders: Readonly<OutgoingHttpHeaders> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Finds the reason to refuse a request that changes something; null if it comes from the inspector's own page. */
export function findOriginProblem(headers: IncomingHttpHeaders): string | null {
  const { host = '', origin } = headers;
  const sites = [`http://${host}`, `https://${host}`];
  if (origin === undefined || !sites.includes(origin)) return 'Only the page of the inspector may send this.';
  const foreign = findSiteProblem(headers);
  if (foreign !== null) return foreign;
  // A form of another site cannot send this content type.
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return 'The content type must be application/json.';
  return null;
}

/** Finds the reason to refuse a request that another site's page made, or null. Only browsers send this header. */
export function findSiteProblem(headers: IncomingHttpHeaders): string | null {
  const { 'sec-fetch-site': site = 'none' } = headers;
  return site === 'same-origin' || site === 'none' ? null : 'Only the page of the inspector may send this.';
}

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

const paths = new Map(Object.keys(types).map((name) => [`/inspect/${name === 'index.html' ? '' : name}`, name]));

/**
 * Gives the page's file at a path, or undefined where there is none. The bundled service has them next to it: throws if one is
 * missing. Run from source they are built when the first is asked for, which most runs never do; then it rejects if one does
 * not compile.
 */
function loadPage() {
  const folder = join(dirname(import.meta.filename), 'inspect');
  const fromSource = import.meta.filename.endsWith('.ts');
  const bundled = fromSource ? [] : Object.keys(types).map((name) => [name, readFileSync(join(folder, name))] as const);
  let files: Promise<ReadonlyMap<string, Buffer>> | null = fromSource ? null : Promise.resolve(new Map(bundled));
  return async (path: string) => {
    const name = paths.get(path);
    if (name === undefined) return undefined;
    files ??= buildFiles();
    const body = (await files).get(name);
    return body && { contentType: types[name] ?? '', body };
  };
}

async function buildFiles(): Promise<Map<string, Buffer>> {
  const builder = new URL('../../../scripts/build-inspector.ts', import.meta.url);
  const { buildInspector }: { buildInspector(): Promise<Map<string, Buffer>> } = await import(builder.href);
  return buildInspector();
}
