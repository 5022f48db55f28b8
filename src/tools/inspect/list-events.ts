import { setImmediate as nextSlice, setTimeout as sleep } from 'node:timers/promises';
import { buildExchangeRow, type ExchangeRow } from './exchange-json.ts';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';
import { bodyNames } from './recording.ts';
import { createRoundTripLinker } from './round-trip-links.ts';
import { noteWords } from './row-words.ts';
import { createDeltaTexts } from './view/delta-texts.ts';

/** A change of the list; with `reset` it is the whole list. */
export interface ListMessage {
  readonly reset: boolean;
  readonly rows: readonly ExchangeRow[];
  readonly gone: readonly number[];
  readonly held_bytes: number;
}

/** The exchanges with the searched text, among those that ended since the last such message. */
export interface FoundMessage {
  readonly ids: readonly number[];
}

const updateIntervalMs = 100;
/** Pauses before a silent stream sends a comment. The admin port closes a connection that is silent for longer. */
const heartbeatAfter = 40;

/**
 * The list of exchanges as server-sent events, for one page: `list` when it changes and, with a text to find, `found` for the
 * exchanges that have it in one of their bodies. Each is searched once, when it has ended. Exchanges are read one after the
 * other, with pauses in which the service works.
 */
export function createListEvents(store: ExchangeStore): (text: string, signal: AbortSignal) => AsyncGenerator<string> {
  const link = createRoundTripLinker(store);
  return async function* listEvents(text, signal) {
    const shown = new Map<number, number>();
    const searched = new Set<number>();
    for (let isFirst = true, silent = 0; ; isFirst = false, silent += 1) {
      const changed = store.list().filter(({ id, version }) => shown.get(id) !== version);
      const gone = [...shown.keys()].filter((id) => store.get(id) === undefined);
      if (isFirst || changed.length > 0 || gone.length > 0) {
        for (const id of gone) shown.delete(id);
        const rest = { reset: isFirst, gone, held_bytes: store.heldBytes };
        yield `event: list\ndata: ${JSON.stringify(rest).slice(0, -1)},"rows":[`;
        for (const [index, exchange] of changed.entries()) {
          link(exchange);
          noteWords(exchange);
          shown.set(exchange.id, exchange.version);
          yield `${index === 0 ? '' : ','}${JSON.stringify(buildExchangeRow(exchange))}`;
          await nextSlice();
        }
        yield ']}\n\n';
        silent = 0;
      }
      const ended = store.list().filter(({ id, facts }) => facts.outcome !== 'running' && !searched.has(id));
      if (text !== '' && (isFirst || ended.length > 0)) {
        const ids = [];
        for (const exchange of ended) if (await isInBodies(exchange, text, signal)) ids.push(exchange.id);
        for (const { id } of ended) searched.add(id);
        yield `event: found\ndata: ${JSON.stringify({ ids } satisfies FoundMessage)}\n\n`;
      }
      if (silent % heartbeatAfter === heartbeatAfter - 1) yield ':\n\n';
      await sleep(updateIntervalMs, undefined, { ref: false, signal });
    }
  };
}

/**
 * Whether one of the exchange's bodies has the text, ignoring case: as it is, as JSON escapes it, or in what the deltas of an
 * answer add up to.
 */
async function isInBodies(exchange: StoredExchange, text: string, signal: AbortSignal): Promise<boolean> {
  const plain = text.toLowerCase();
  const wanted = [plain, JSON.stringify(plain).slice(1, -1)];
  const pause = async () => {
    await nextSlice();
    signal.throwIfAborted();
  };
  for (const body of bodyNames) {
    const whole = exchange.joinBytes(body).toString('utf8');
    const lower = whole.toLowerCase();
    if (wanted.some((each) => lower.includes(each))) return true;
    await pause();
    const deltas = createDeltaTexts<typeof body>();
    const lines = body === 'chat_response' || body === 'client_response' ? whole.split('\n') : [];
    for (const [index, line] of lines.entries()) {
      deltas.add(line.replace(/^data:/, ''), body);
      if (index % linesAtATime === linesAtATime - 1) await pause();
    }
    if (deltas.find(wanted).size > 0) return true;
  }
  return false;
}

/** The lines of a stream that are read at a time, which takes about a millisecond. */
const linesAtATime = 500;
