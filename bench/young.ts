import { connectExtProc, type ExtProcClient } from '../test/support/extproc-client.ts';
import { sendRequest } from '../test/support/scripted-exchange.ts';
import { startService } from './contenders.ts';
import { completionBody, requestBody } from './fixtures.ts';
import { cpuSeconds } from './process-figures.ts';

/** What a lap does, one after the other; V8 compiles less in each, and the heap has the marks of the stage before. */
const stages = [
  { what: 'a small JSON answer', count: 4000, body: requestBody(false) },
  { what: '256 KB of history', count: 60, body: requestBody(false, 256 * 1024) },
] as const;
const laps = 3;
const atOnce = 32;

const answer = completionBody(320);
const answerHeaders = new Map([
  [':status', '200'],
  ['content-type', 'application/json'],
]);

/** CPU µs of a new process of the built tree at `root`, without an Envoy beside it, for each request of each lap. */
export async function measureYoung(root: string): Promise<{ readonly what: string; readonly cpuMicros: number }[]> {
  const { port, child } = await startService(root);
  const client = connectExtProc(`127.0.0.1:${port}`);
  try {
    const costs: { what: string; cpuMicros: number }[] = [];
    for (let lap = 1; lap <= laps; lap++)
      for (const { what, count, body } of stages) {
        const before = cpuSeconds(child.pid);
        let left = count;
        const serve = async () => {
          while (left-- > 0) await exchange(client, body);
        };
        await Promise.all(Array.from({ length: atOnce }, serve));
        costs.push({ what: `${what}, lap ${lap}`, cpuMicros: ((cpuSeconds(child.pid) - before) / count) * 1e6 });
      }
    return costs;
  } finally {
    client.close();
    await child.stop();
  }
}

/** Throws when the request is refused. */
async function exchange(client: ExtProcClient, body: Buffer): Promise<void> {
  const { call, last } = await sendRequest(client, body);
  if (last.request_body === undefined) throw new Error(`The service refuses: ${last.immediate_response?.body}`);
  call.send({ type: 'response_headers', headers: answerHeaders, endOfStream: false });
  call.send({ type: 'response_body', body: answer, endOfStream: true });
  for (let isEnd = false; !isEnd; )
    isEnd = (await call.next()).response_body?.response?.body_mutation?.streamed_response?.end_of_stream ?? false;
  call.cancel();
}
