/**
 * Compares what a stream translator counts with how the heap grows, for each kind of endless stream. A script, because it
 * needs its own small heap, and no concurrent compiler that refers to its objects:
 * `node --expose-gc --no-concurrent-recompilation test/support/measure-held-bytes.ts` prints a JSON line for each kind.
 */

import { setImmediate } from 'node:timers/promises';
import { StreamTranslator } from '../../src/filter/translate/chat-to-response/stream.ts';
import { type ChunkOf, endlessContext, endlessStreams, repeatingStreams } from './endless-streams.ts';

/** Large compared with what the engine itself keeps and frees. */
const enough = 300_000;
const mostChunks = 200_000;

/** Heap in use, in bytes, after what the engine frees late (compiled code, what a compiler thread still holds) is gone. */
async function usedHeap(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('Run with --expose-gc.');
  for (let round = 0; round < 3; round++) {
    gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed;
}

function streamOf(chunkOf: ChunkOf, counted: number): StreamTranslator {
  const isRepeating = repeatingStreams.some(([, of]) => of === chunkOf);
  const translator = new StreamTranslator(endlessContext({ cumulativeDeltas: isRepeating }));
  for (let index = 0; index < mostChunks && translator.holds() < counted; index++) {
    const json = JSON.stringify(chunkOf(index));
    translator.pushRawJson(json) ?? translator.push(JSON.parse(json), null, json);
  }
  return translator;
}

interface Measurement {
  readonly grown: number;
  readonly counted: number;
}

/** A function, so that no reference to one stream remains when the next is measured. */
async function measureOnce(chunkOf: ChunkOf): Promise<Measurement> {
  const before = await usedHeap();
  const translator = streamOf(chunkOf, enough);
  return { grown: (await usedHeap()) - before, counted: translator.holds() };
}

/** The absolute error of the count: 0 is exact. */
function distance({ grown, counted }: Measurement): number {
  return grown <= 0 ? Number.POSITIVE_INFINITY : Math.abs(Math.log(counted / grown));
}

/**
 * The closest of up to three: a wrong count is wrong each time, and what the engine frees late on a busy machine is not.
 * A first short stream has compiled the code.
 */
async function measure(chunkOf: ChunkOf): Promise<Measurement> {
  streamOf(chunkOf, enough / 10);
  let best = await measureOnce(chunkOf);
  for (let more = 0; more < 2 && distance(best) > Math.log(1.4); more++) {
    const again = await measureOnce(chunkOf);
    if (distance(again) < distance(best)) best = again;
  }
  return best;
}

for (const [name, chunkOf] of [...endlessStreams, ...repeatingStreams])
  console.log(JSON.stringify({ name, ...(await measure(chunkOf)) }));
