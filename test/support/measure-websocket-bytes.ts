/**
 * Compares what connections of WebSockets count with how the process's memory grows, for each kind of message or event that is kept. A
 * script, because it needs a heap of its own: `node --expose-gc --single-threaded-gc test/support/measure-websocket-bytes.ts` prints a JSON line for each kind.
 */

import { setImmediate } from 'node:timers/promises';
import { type HeldKind, heldMessages } from './held-messages.ts';
import { startWebSocketSession } from './websocket-session.ts';

/** Bytes in use, in V8's heap and outside it, after what the engine frees late is gone. */
async function usedBytes(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('Run with --expose-gc.');
  for (let round = 0; round < 3; round++) {
    gc();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Large compared with what the engine itself keeps and frees. */
const enough = 1_000_000;
const mostSessions = 100;

const limits = { maxHeld: Number.POSITIVE_INFINITY, maxEventBytes: 10_000_000, maxErrorBytes: 1_000_000 };

/** A function, so that no reference to one kind remains when the next is measured. */
async function measure({ fill }: HeldKind): Promise<{ readonly grown: number; readonly counted: number }> {
  const open = () => startWebSocketSession({ ...limits, maxValues: 1_000_000, records: false });
  // Compiled before it is measured.
  for (let warm = 0; warm < 3; warm++) fill(open());
  const sessions = Array.from({ length: mostSessions }, open);
  await usedBytes();
  const before = await usedBytes();
  let counted = 0;
  for (const session of sessions) {
    if (counted >= enough) break;
    fill(session);
    counted += session.held();
  }
  const grown = (await usedBytes()) - before;
  // They are alive until here.
  for (const { connection } of sessions) connection.abort(null);
  return { grown, counted };
}

for (const [name, kind] of heldMessages) console.log(JSON.stringify({ name, ...(await measure(kind)) }));
