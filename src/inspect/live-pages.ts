import type { ServerResponse } from 'node:http';
import { securityHeaders } from './access.ts';
import type { ExchangeStore, StoredExchange } from './store.ts';

/** How often open pages are sent what changed. */
const UPDATE_EVERY_MS = 100;
/** Below the idle timeout of the admin port, which closes what is silent. */
const HEARTBEAT_MS = 4_000;
/** Bytes on the way to one page; with more, it is sent nothing until it has read them, and then what is true by then. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Streams of events at once; a page has two. */
const MAX_STREAMS = 32;

/** Streams of server-sent events to open pages. Nothing is queued for them: each is sent the difference to what it has. */
export interface LivePages {
  /** The list of exchanges. False when there are too many streams. */
  openList(response: ServerResponse): boolean;
  /** One exchange, until it ends. False when there are too many streams. */
  openExchange(response: ServerResponse, exchange: StoredExchange): boolean;
  readonly count: number;
  close(): void;
}

/** Writes what is new to the page as events; false when there will be nothing more. */
type Update = (write: (event: string, data: unknown) => void, skipped: number) => boolean;

export function createLivePages(store: ExchangeStore): LivePages {
  const streams = new Set<{ readonly update: () => void; readonly end: () => void }>();
  let timer: NodeJS.Timeout | undefined;

  function open(response: ServerResponse, update: Update): boolean {
    if (streams.size >= MAX_STREAMS) return false;
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
    let lastWrite = performance.now();
    /** Updates that this page was too slow for. */
    let skipped = 0;
    const write = (event: string, data: unknown) => {
      lastWrite = performance.now();
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    };
    const stream = {
      update() {
        if (response.writableLength > MAX_UNREAD_BYTES) {
          skipped += 1;
          return;
        }
        if (!update(write, skipped)) stream.end();
        skipped = 0;
        if (performance.now() - lastWrite < HEARTBEAT_MS) return;
        lastWrite = performance.now();
        response.write(':\n\n');
      },
      end() {
        close();
        response.end();
      },
    };
    const close = () => {
      streams.delete(stream);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
    response.once('close', close);
    streams.add(stream);
    timer ??= setInterval(() => {
      for (const each of [...streams]) each.update();
    }, UPDATE_EVERY_MS).unref();
    stream.update();
    return true;
  }

  return {
    openList: (response) => open(response, listUpdates(store)),
    openExchange: (response, exchange) => open(response, exchangeUpdates(exchange)),
    get count() {
      return streams.size;
    },
    close() {
      for (const stream of [...streams]) stream.end();
    },
  };
}

/** The events of an exchange that is not in memory: a page may ask for it before it is told. */
export function sendGone(response: ServerResponse): void {
  response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
  response.end('event: evicted\ndata: {}\n\n');
}

function listUpdates(store: ExchangeStore): Update {
  const shown = new Map<number, number>();
  let first = true;
  return (write, skipped) => {
    const rows = [];
    const gone = new Set(shown.keys());
    for (const exchange of store.list()) {
      gone.delete(exchange.id);
      if (shown.get(exchange.id) === exchange.version) continue;
      shown.set(exchange.id, exchange.version);
      rows.push(exchange.row());
    }
    for (const id of gone) shown.delete(id);
    if (first || rows.length > 0 || gone.size > 0)
      write('list', { reset: first, rows, gone: [...gone], held_bytes: store.heldBytes, skipped });
    first = false;
    return true;
  };
}

function exchangeUpdates(exchange: StoredExchange): Update {
  let version = -1;
  let shape = -1;
  let upstream = 0;
  let client = 0;
  return (write, skipped) => {
    if (exchange.isDiscarded) {
      write('evicted', {});
      return false;
    }
    if (exchange.version !== version) {
      version = exchange.version;
      if (exchange.shape === shape) {
        const chat_response = exchange.piecesFrom('chat_response', upstream);
        const client_response = exchange.piecesFrom('client_response', client);
        write('pieces', { row: exchange.row(), chat_response, client_response, skipped });
      } else {
        shape = exchange.shape;
        write('exchange', { ...exchange.detail(), skipped });
      }
      upstream = exchange.count('chat_response');
      client = exchange.count('client_response');
    }
    if (!exchange.isOver) return true;
    write('end', {});
    return false;
  };
}
