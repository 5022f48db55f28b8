import type { ServerResponse } from 'node:http';
import { securityHeaders } from './access.ts';
import { jsonFields, jsonList, jsonObject } from './exchange-json.ts';
import { PacedWrite } from './paced-write.ts';
import type { ExchangeStore, StoredExchange } from './store.ts';
import { detailJson, newPiecesJson, rowOf } from './told-exchange.ts';

/** How often changes are sent to open pages. */
const updateIntervalMs = 100;
/** Below the idle timeout of the admin port, which closes what is silent. */
const heartbeatIntervalMs = 4_000;
/** Streams of events at once; a page has two. */
const maxStreams = 32;

/** Streams of server-sent events to open pages. Nothing is queued: each is sent the difference from what it has. */
export interface LivePages {
  /** The list of exchanges. False when there are too many streams. */
  openList(response: ServerResponse): boolean;
  /** One exchange, until it ends. False when there are too many streams. */
  openExchange(response: ServerResponse, exchange: StoredExchange): boolean;
  readonly count: number;
  close(): void;
}

/**
 * What is new to the page, as the text of events, made while it is read; false when nothing more will follow. The page
 * was too slow for `skipped` updates.
 */
type Update = (skipped: number) => Generator<string, boolean>;

export function createLivePages(store: ExchangeStore): LivePages {
  const streams = new Set<{ readonly update: () => void; readonly heartbeat: () => void; readonly end: () => void }>();
  let timer: NodeJS.Timeout | undefined;

  function open(response: ServerResponse, update: Update): boolean {
    if (streams.size >= maxStreams) return false;
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
    let lastWrite = performance.now();
    let skipped = 0;
    let writing = false;
    const stream = {
      update() {
        if (writing) {
          skipped += 1;
          return;
        }
        writing = true;
        new PacedWrite(response, update(skipped), (goesOn) => {
          writing = false;
          if (!goesOn) stream.end();
        });
        skipped = 0;
      },
      heartbeat() {
        if (writing || performance.now() - lastWrite < heartbeatIntervalMs) return;
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
      for (const each of [...streams]) {
        each.update();
        each.heartbeat();
      }
    }, updateIntervalMs).unref();
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

/** The events of an exchange that is not in memory: a page may request it before it learns that. */
export function sendGone(response: ServerResponse): void {
  response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
  response.end('event: evicted\ndata: {}\n\n');
}

function listUpdates(store: ExchangeStore): Update {
  const shown = new Map<number, number>();
  let first = true;
  return function* (skipped) {
    const changed: StoredExchange[] = [];
    const gone = new Set(shown.keys());
    for (const exchange of store.list()) {
      gone.delete(exchange.id);
      if (shown.get(exchange.id) === exchange.version) continue;
      shown.set(exchange.id, exchange.version);
      changed.push(exchange);
    }
    for (const id of gone) shown.delete(id);
    if (!first && changed.length === 0 && gone.size === 0) return true;
    const reset = first;
    first = false;
    const rest = { reset, gone: [...gone], held_bytes: store.heldBytes, skipped };
    yield* event('list', jsonObject({ rows: jsonList(rowsJson(changed)), ...jsonFields(rest) }));
    return true;
  };
}

function* rowsJson(exchanges: readonly StoredExchange[]): Generator<string[]> {
  for (const exchange of exchanges) if (!exchange.isDiscarded) yield [JSON.stringify(rowOf(exchange))];
}

function exchangeUpdates(exchange: StoredExchange): Update {
  let version = -1;
  let shape = -1;
  let upstream = 0;
  let client = 0;
  return function* (skipped) {
    if (exchange.version !== version && !exchange.isDiscarded) {
      const isNew = exchange.shape !== shape;
      const data = isNew ? detailJson(exchange, { skipped }) : newPiecesJson(exchange, upstream, client, { skipped });
      version = exchange.version;
      shape = exchange.shape;
      upstream = exchange.log.count('chat_response');
      client = exchange.log.count('client_response');
      const isWhole = yield* event(isNew ? 'exchange' : 'pieces', data);
      // The next `event:` line replaces the name of an event that is cut off.
      if (!isWhole) yield '\n';
    }
    if (exchange.isDiscarded) {
      yield* event('evicted', ['{}']);
      return false;
    }
    if (!exchange.isOver || exchange.version !== version) return true;
    yield* event('end', ['{}']);
    return false;
  };
}

/** An event with that data; false, and not ended, if the data is incomplete. */
function* event(name: string, data: Iterable<string>): Generator<string, boolean> {
  yield `event: ${name}\ndata: `;
  const isWhole = (yield* data as Generator<string, unknown>) !== false;
  if (isWhole) yield '\n\n';
  return isWhole;
}
