import type { Config } from '../settings/config.ts';

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
