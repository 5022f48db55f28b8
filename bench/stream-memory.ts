/**
 * `node bench/stream-memory.ts [STREAMS]`: memory of concurrent streams in one process. The figures are in
 * docs/operating.md, "Sizing".
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestMesh } from '../test/support/mesh.ts';
import { delta, done, eventStream, finish } from '../test/support/upstream.ts';

const streams = Number(process.argv[2] ?? 1000);
const mesh = await startTestMesh({ concurrency: 1 });
const over = { yet: false };

await report('idle');
const script = Array.from({ length: streams }, () => ({ headers: eventStream, body: oneWordASecond() }));
mesh.upstream.script('stream', ...script);
const request = { model: 'stream', stream: true, input: 'x'.repeat(20_000), instructions: 'y'.repeat(10_000) };
const running = await Promise.all(script.map(() => mesh.post(request)));
await sleep(2_000);
const before = await mesh.service.metric('process_cpu_seconds_total');
await sleep(10_000);
await report(`${streams} streams, one chunk a second each`);
console.log(`CPU: ${(((await mesh.service.metric('process_cpu_seconds_total')) - before) / 10).toFixed(3)} of a core`);
over.yet = true;
for (const response of running) await response.text();
await mesh.close();
process.exit(0);

async function report(what: string): Promise<void> {
  const [resident = 0, heap = 0] = await Promise.all(
    ['process_resident_memory_bytes', 'nodejs_heap_size_used_bytes'].map((name) => mesh.service.metric(name)),
  );
  console.log(`${what}: ${Math.round(resident / 1e6)} MB resident, ${Math.round(heap / 1e6)} MB of heap in use`);
}

function* oneWordASecond() {
  while (!over.yet) {
    yield delta({ content: 'word ' });
    yield 1000;
  }
  yield finish('stop');
  yield done;
}
