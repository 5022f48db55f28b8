import { expect } from 'vitest';
import type { TestMesh } from './mesh.ts';

/** Its request, which names the upstream's script, and when it disconnects: `after` reading that text, or `unread`, once the upstream has the request. */
export interface LeavingClient {
  readonly model: string;
  readonly leaves: { readonly after: string } | 'unread';
  readonly stream: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the request, and closes its connection before the answer has ended. Its request id in the access log is the model. */
export async function askAndLeave(mesh: TestMesh, { model, leaves, stream, headers }: LeavingClient): Promise<void> {
  const abort = new AbortController();
  const asked = mesh.upstream.received(model).length;
  const answer = mesh.post(
    { model, stream, input: 'Hi' },
    { headers: { 'x-request-id': model, ...headers }, signal: abort.signal },
  );
  if (leaves === 'unread') {
    const left = expect(answer).rejects.toThrow('abort');
    await expect.poll(() => mesh.upstream.received(model).length).toBe(asked + 1);
    abort.abort();
    await left;
    return;
  }
  let text = '';
  for await (const piece of (await answer).body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes(leaves.after)) break;
  }
  abort.abort();
}

/** The cost of the last request of that model if nothing was counted: one token for each four bytes sent upstream. */
export function estimatedTokens({ upstream }: TestMesh, model: string, outputTokens: number) {
  const sent = upstream.received(model).at(-1)?.body.length ?? Number.NaN;
  return { tokens_from: 'estimate', input_tokens: Math.ceil(sent / 4), output_tokens: outputTokens };
}
