import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes the collection that V8 makes before it runs out of memory: it shrinks both generations and gives their pages back. Any other
 * puts the pages that become free into a pool, where they stay in the process (`pooled` in `--trace-gc`).
 */
export function collectAndGiveBack(collector: NodeJS.GCFunction): void {
  collector({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * V8's full garbage collection, which JavaScript can call only with a flag: it is set for a moment. The function keeps
 * a context of a megabyte alive: do not hold on to it after a single collection.
 */
export function takeCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
