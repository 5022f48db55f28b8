import { setTimeout as sleep } from 'node:timers/promises';
import { startContender, startUpstream } from './contenders.ts';
import type { Cell } from './table.ts';

const streams = 1000;
const load = {
  stream: true,
  knobs: { tokens: 75, pauseMs: 200, tokenBytes: 32 },
  connections: streams,
  requests: 1,
  rampSeconds: 3,
} as const;

export const slowHeadings = ['filter', 'MB before', 'MB most', 'KiB for a stream'];

/** Memory of a thousand streams at five tokens a second. An earlier thousand warms the process up. */
export async function runSlowStreams(): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const rows: Cell[][] = [];
  for (const name of ['noop', 'service'] as const) {
    const contender = await startContender(name, upstream.port);
    try {
      await contender.measure({ ...load, knobs: { ...load.knobs, tokens: 20 } });
      const before = contender.filterBytes();
      let most = before;
      let running = true;
      const watch = (async () => {
        while (running) {
          most = Math.max(most, contender.filterBytes());
          await sleep(250);
        }
      })();
      const slice = await contender.measure(load);
      running = false;
      await watch;
      if (slice.failures.length > 0) throw new Error(`A slow stream failed: ${slice.failures[0]}`);
      rows.push([name, before / 1e6, most / 1e6, (most - before) / 1024 / streams]);
    } finally {
      await contender.stop();
    }
  }
  await upstream.child.stop();
  return rows;
}
