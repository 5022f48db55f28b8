/**
 * Compares what a stream translator counts with how the heap grows, for each kind of endless stream. A script, because it
 * needs a small heap of its own, and no compiler beside it that refers to its objects:
 * `node --expose-gc --no-concurrent-recompilation test/support/measure-retained.ts` prints a JSON line for each kind.
 */

import { StreamTranslator } from '../../src/translate/stream.ts';
import { type ChunkOf, endlessContext, endlessStreams } from './endless-streams.ts';

/** Large beside what the engine itself keeps and frees. */
const enough = 600_000;
const mostChunks = 200_000;

function usedHeap(): number {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('Run with --expose-gc.');
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}

function streamOf(chunkOf: ChunkOf, counted: number): StreamTranslator {
  const translator = new StreamTranslator(endlessContext());
  for (let index = 0; index < mostChunks && translator.retainedBytes() < counted; index++) {
    const json = JSON.stringify(chunkOf(index));
    translator.pushRawJson(json) ?? translator.push(JSON.parse(json), null, json);
  }
  return translator;
}

/** A function, so that nothing of one stream is still referred to when the next is measured. */
function measure(chunkOf: ChunkOf): { grown: number; counted: number } {
  streamOf(chunkOf, enough / 10);
  const before = usedHeap();
  const translator = streamOf(chunkOf, enough);
  return { grown: usedHeap() - before, counted: translator.retainedBytes() };
}

for (const [name, chunkOf] of endlessStreams) console.log(JSON.stringify({ name, ...measure(chunkOf) }));
