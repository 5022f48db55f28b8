import { openSync, readSync } from 'node:fs';
import { totalmem } from 'node:os';
import { heapLimit } from '../service/memory/heap.ts';
import type { Config } from '../service/settings/config.ts';

/** Reads the memory of this process in bytes: the heap that V8 was given, and what the machine or its container has in all. */
export function readMemory(): { readonly heap: number; readonly total: number } {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return {
    heap: heapLimit(flags),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/** Creates a reader of this process's size in bytes. Linux has it in `file`, which is read in a fifth of the time of `process.memoryUsage.rss`. */
export function createSizeReader(file = '/proc/self/statm'): () => number {
  const read = openSizeReader(file);
  let size = 0;
  return () => {
    try {
      size = read();
    } catch {
      // `process.memoryUsage.rss` opens a file, and connections may take every descriptor. The last size stands in.
    }
    return size;
  };
}

function openSizeReader(file: string): () => number {
  const text = Buffer.alloc(128);
  try {
    const open = openSync(file, 'r');
    const pages = () => Number(text.toString('latin1', 0, readSync(open, text, 0, text.length, 0)).split(' ')[1]);
    // Rounded to a power of two, since memory may be allocated between the two readings.
    const pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages()));
    if (Number.isFinite(pageBytes)) return () => pages() * pageBytes;
  } catch {
    // Only Linux has this file.
  }
  return () => process.memoryUsage.rss();
}

/** The largest body, as a share of the heap without what the service itself needs: it is parsed at once, into up to 21 times its size. */
const maxBodyHeapShare = 1 / 30;
const ownHeapBytes = 32 * 1024 * 1024;
/** The buffered bodies' share of the memory: they are outside the heap, and copied once or twice on the way. */
const maxBufferedMemoryShare = 1 / 4;

/** Lowers the sizes of a configuration that do not fit this process's memory; `lowered` says which, and why. */
export function fitToMemory(
  config: Config,
  memory: { readonly heap: number; readonly total: number },
): { readonly config: Config; readonly lowered: readonly string[] } {
  const lowered: string[] = [];
  const ofHeap = {
    most: Math.max(Math.floor((memory.heap - ownHeapBytes) * maxBodyHeapShare), 1024 * 1024),
    why: `a 30th of the heap (${memory.heap} bytes); NODE_OPTIONS=--max-old-space-size=… raises it`,
  };
  const ofMemory = {
    most: Math.floor(memory.total * maxBufferedMemoryShare),
    why: `a quarter of the memory (${memory.total} bytes)`,
  };
  const atMost = (name: keyof Config & `MAX_${string}_BYTES`, { most, why }: typeof ofHeap) => {
    const wanted = config[name];
    if (wanted > 0 && wanted <= most) return wanted;
    lowered.push(`${name} is ${most}, ${why}`);
    return most;
  };
  return {
    config: {
      ...config,
      MAX_REQUEST_BYTES: atMost('MAX_REQUEST_BYTES', ofHeap),
      MAX_RESPONSE_BYTES: atMost('MAX_RESPONSE_BYTES', ofHeap),
      MAX_BUFFERED_BYTES: atMost('MAX_BUFFERED_BYTES', ofMemory),
    },
    lowered,
  };
}
