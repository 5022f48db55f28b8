import { setTimeout as sleep } from 'node:timers/promises';
import type { TestMesh } from './mesh.ts';
import { completion, delta, done, eventStream, finish } from './upstream.ts';

/** How a request of the load ended. */
export interface LoadResult {
  readonly id: number;
  /** It was answered in full. */
  readonly ok: boolean;
  /** The status is 0 where no answer began. */
  readonly answer: { readonly status: number; readonly body: unknown };
}

/** `clients` that send one request after another, alternating JSON and streams, until they are stopped. */
export function startLoad(mesh: TestMesh, clients: number) {
  mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
  mesh.upstream.script('sse', {
    headers: eventStream,
    body: [delta({ content: 'Hi' }), 5, delta({ content: '!' }), finish('stop'), done],
  });
  const results: LoadResult[] = [];
  const begun = new Set<number>();
  let stopped = false;
  let next = 0;

  async function send(id: number): Promise<LoadResult> {
    const stream = id % 2 === 1;
    let status = 0;
    try {
      const response = await mesh.post({ model: stream ? 'sse' : 'json', input: `${id}`, stream });
      status = response.status;
      const text = await response.text();
      const whole = stream ? text.includes('event: response.completed\n') : text.includes('"status":"completed"');
      const body = status === 200 ? null : JSON.parse(text);
      return { id, ok: status === 200 && whole, answer: { status, body } };
    } catch {
      return { id, ok: false, answer: { status, body: 'broken off' } };
    }
  }
  const running = Promise.all(
    Array.from({ length: clients }, async () => {
      while (!stopped) {
        const id = next++;
        begun.add(id);
        results.push(await send(id));
        begun.delete(id);
      }
    }),
  );
  return {
    /** Resolves when that many more requests have ended. */
    async sent(count: number): Promise<void> {
      for (const from = results.length; results.length < from + count; ) await sleep(5);
    },
    inFlight: (): ReadonlySet<number> => new Set(begun),
    async stop(): Promise<readonly LoadResult[]> {
      stopped = true;
      await running;
      return results;
    },
  };
}
