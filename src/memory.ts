import { totalmem } from 'node:os';
import { heapLimit } from './server/heap.ts';

/** The memory of this process in bytes: the heap that V8 was given, and what the machine or container has in all. */
export function memoryOfProcess(): { readonly heap: number; readonly total: number } {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return {
    heap: heapLimit(flags),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}
