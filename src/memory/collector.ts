import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * V8's full collection, which JavaScript sees only with a flag: it is set for this moment alone. The function keeps a context of
 * a megabyte alive, so whoever collects once lets go of it.
 */
export function takeCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
