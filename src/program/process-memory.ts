import { openSync, readSync } from 'node:fs';
import { totalmem } from 'node:os';
import { heapLimit } from '../service/memory/heap.ts';
import type { Config } from '../service/settings/config.ts';

/** The memory of this process in bytes: the heap that V8 was given, and what the machine or container has in all. */
export function memoryOfProcess(): { readonly heap: number; readonly total: number } {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return {
    heap: heapLimit(flags),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/**
 * Reads the size of this process in bytes; the last one seen while it cannot be read. Linux tells it in pages in `file`, which stays open, at a
 * fifth of the cost of `process.memoryUsage.rss`: a large request asks some ten times.
 */
export function residentReader(file = '/proc/self/statm'): () => number {
  const read = readerOf(file);
  let resident = 0;
  return () => {
    try {
      resident = read();
    } catch {
      // Where a file is opened for it, every descriptor may be taken by a connection.
    }
    return resident;
  };
}

function readerOf(file: string): () => number {
  const text = Buffer.alloc(128);
  try {
    const open = openSync(file, 'r');
    const pages = () => Number(text.toString('latin1', 0, readSync(open, text, 0, text.length, 0)).split(' ')[1]);
    // A power of two, so what is allocated between the two readings changes nothing.
    const pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages()));
    if (Number.isFinite(pageBytes)) return () => pages() * pageBytes;
  } catch {
    // Only Linux has it.
  }
  return () => process.memoryUsage.rss();
}

/** A body is parsed in one go, into up to 21 times its size: it may be so much of the heap, less what the service itself needs. */
const maxBodyHeapShare = 1 / 30;
const ownHeapBytes = 32 * 1024 * 1024;
/** Buffered bodies live outside the JavaScript heap, and are copied once or twice on the way. */
const maxBufferedMemoryShare = 1 / 4;

/** The configuration, with those sizes lowered that do not fit this process's memory; `lowered` says which, and why. */
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
