import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { securityHeaders } from './access.ts';
import { detailJson, piecesJson, rowOf } from './exchange-json.ts';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';

/** How often changes are sent to open pages. */
const updateIntervalMs = 100;
/** Below the idle timeout of the admin port, which closes what is silent: in intervals. */
const heartbeatAfter = 40;
/** Streams of events at once; a page has two. */
const maxStreams = 32;
/** Texts are joined up to this length, which is all that waits for a page that does not read. */
const partLength = 64 * 1024;

/** Streams of server-sent events to open pages. Nothing is queued: each is sent the difference from what it has. */
export interface LivePages {
  /** The list of exchanges. False when there are too many streams. */
  openList(response: ServerResponse): boolean;
  /** One exchange, until it ends; undefined if it is not in memory. False when there are too many streams. */
  openExchange(response: ServerResponse, exchange: StoredExchange | undefined): boolean;
  close(): void;
}

export function createLivePages(store: ExchangeStore): LivePages {
  const open = new Set<ServerResponse>();

  function follow(response: ServerResponse, events: AsyncIterable<string>): boolean {
    if (open.size >= maxStreams) return false;
    open.add(response);
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
    response.once('close', () => open.delete(response));
    void sendAsRead(response, events);
    return true;
  }

  return {
    openList: (response) => follow(response, listEvents(store)),
    openExchange: (response, exchange) => follow(response, exchangeEvents(exchange)),
    close() {
      for (const response of open) response.destroy();
    },
  };
}

/** Sends the exchange, as it is read; the download fails if the exchange is evicted meanwhile. */
export function sendExchange(response: ServerResponse, exchange: StoredExchange): void {
  response.writeHead(200, { ...securityHeaders, 'content-type': 'application/json' });
  if (response.req.method === 'HEAD') response.end();
  else void sendAsRead(response, whileKept(exchange, detailJson(exchange)));
}

/** Writes texts no faster than the other side reads. A text that cannot be made ends the connection. */
async function sendAsRead(response: ServerResponse, texts: Iterable<string> | AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(texts, { highWaterMark: 1 }), response).catch(() => response.destroy());
}

async function* listEvents(store: ExchangeStore): AsyncGenerator<string> {
  const shown = new Map<number, number>();
  for (let reset = true, silent = 0; ; reset = false, silent += 1) {
    const changed = [...store.list()].filter(({ id, version }) => shown.get(id) !== version);
    const gone = [...shown.keys()].filter((id) => store.get(id) === undefined);
    for (const { id, version } of changed) shown.set(id, version);
    for (const id of gone) shown.delete(id);
    if (reset || changed.length > 0 || gone.length > 0) {
      const rest = JSON.stringify({ reset, gone, held_bytes: store.heldBytes }).slice(1);
      yield* joined(event('list', ['{"rows":', ...list(changed), `,${rest}`]));
      silent = 0;
    } else if (silent % heartbeatAfter === heartbeatAfter - 1) yield ':\n\n';
    await sleep(updateIntervalMs, undefined, { ref: false });
  }
}

function* list(exchanges: readonly StoredExchange[]): Generator<string> {
  let before = '[';
  for (const exchange of exchanges) {
    yield `${before}${JSON.stringify(rowOf(exchange))}`;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

async function* exchangeEvents(exchange: StoredExchange | undefined): AsyncGenerator<string> {
  let [version, shape, upstream, client, silent] = [-1, -1, 0, 0, 0];
  while (exchange !== undefined && !exchange.isDiscarded) {
    if (exchange.version !== version) {
      const isNew = exchange.shape !== shape;
      const { chat_response, client_response } = exchange.pieces;
      const data = isNew ? detailJson(exchange) : newPiecesJson(exchange, upstream, client);
      [version, shape, silent] = [exchange.version, exchange.shape, 0];
      [upstream, client] = [chat_response.length, client_response.length];
      try {
        yield* whileKept(exchange, event(isNew ? 'exchange' : 'pieces', data));
      } catch {
        yield '\n'; // the next `event:` replaces the name of an event that is cut off
      }
    } else if (silent % heartbeatAfter === heartbeatAfter - 1) yield ':\n\n';
    if (exchange.isOver && exchange.version === version) return yield 'event: end\ndata: {}\n\n';
    silent += 1;
    await sleep(updateIntervalMs, undefined, { ref: false });
  }
  yield 'event: evicted\ndata: {}\n\n';
}

/** The row, and the pieces of both answers from these on. */
function* newPiecesJson(exchange: StoredExchange, upstream: number, client: number): Generator<string> {
  const row = rowOf(exchange);
  yield `{"row":${JSON.stringify(row)},"chat_response":`;
  yield* piecesJson(exchange, 'chat_response', upstream, row.pieces[0]);
  yield ',"client_response":';
  yield* piecesJson(exchange, 'client_response', client, row.pieces[1]);
  yield '}';
}

function* event(name: string, data: Iterable<string>): Generator<string> {
  yield `event: ${name}\ndata: `;
  yield* data;
  yield '\n\n';
}

/** The texts, joined; throws where the exchange that they are made of is evicted meanwhile. */
function* whileKept(exchange: StoredExchange, texts: Iterable<string>): Generator<string> {
  for (const part of joined(texts)) {
    if (exchange.isDiscarded) throw new Error('The exchange was evicted.');
    yield part;
  }
}

function* joined(texts: Iterable<string>): Generator<string> {
  let part = '';
  for (const text of texts) {
    part += text;
    if (part.length < partLength) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}
