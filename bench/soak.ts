/**
 * `node bench/soak.ts STREAMS MINUTES [TOKENS_PER_SECOND]`: many long-lived streams through a real Envoy, and the
 * service's memory while they grow. Each stream is checked to its end: all tokens, in order, and its terminal event. The
 * figures are in docs/performance.md. An Envoy needs two open files per stream, so each gets at most 5,000 streams.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startContender, startUpstream } from './contenders.ts';
import { type Cell, tableOf } from './table.ts';
import { buildOwnTree } from './trees.ts';

const pointsOfCurve = 10;
const streamsPerEnvoy = 5_000;
const [streams = 1000, minutes = 10, tokensPerSecond = 5] = process.argv.slice(2).map(Number);

buildOwnTree();
const upstream = await startUpstream();
const contender = await startContender('service', upstream.port);
const contenders = [contender];
while (contenders.length * streamsPerEnvoy < streams)
  contenders.push(await startContender('service', upstream.port, { beside: contender }));
// The first streams warm the process up.
await contender.measure({
  stream: true,
  knobs: { tokens: 20, pauseMs: 50, tokenBytes: 32 },
  connections: 100,
  requests: 5,
});

const rampSeconds = Math.max(3, streams / 200);
const before = contender.filterBytes();
const curve: Cell[][] = [];
let running = true;
const watch = (async () => {
  for (let point = 1; point <= pointsOfCurve && running; point++) {
    await sleep((minutes * 60_000) / pointsOfCurve);
    const bytes = contender.filterBytes();
    curve.push([(minutes * point) / pointsOfCurve, bytes / 1e6, (bytes - before) / 1024 / streams]);
  }
})();
const slices = await Promise.all(
  contenders.map((each) =>
    each.measure({
      stream: true,
      knobs: { tokens: minutes * 60 * tokensPerSecond, pauseMs: 1000 / tokensPerSecond, tokenBytes: 32 },
      connections: streams / contenders.length,
      requests: 1,
      rampSeconds,
    }),
  ),
);
running = false;
await watch;
console.log(
  `${streams} streams, ${tokensPerSecond} tokens a second each, for ${minutes} minutes; opened within ${rampSeconds} s`,
);
console.log(`MB before: ${(before / 1e6).toFixed(0)}\n\n${tableOf(['minute', 'MB', 'KiB for a stream'], curve)}\n`);
const failures = slices.flatMap((slice) => slice.failures);
const sum = (of: 'requests' | 'tokens') => slices.reduce((total, slice) => total + slice[of], 0);
console.log(`${sum('requests')} streams whole, ${failures.length} lost; ${sum('tokens')} tokens`);
if (failures.length > 0) console.log(`The first: ${failures[0]}`);
for (const each of contenders.toReversed()) await each.stop();
await upstream.child.stop();
process.exit(failures.length === 0 ? 0 : 1);
