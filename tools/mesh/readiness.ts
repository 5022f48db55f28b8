import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { probeAgent } from '../../src/tools/inspect/recording.ts';

/** A model of the embedded upstream. */
export const demoModel = 'demo';

/** The request id of the probes below, by which their log lines can be left out. */
export const probeId = `probe-${randomUUID()}`;

/**
 * Resolves when requests are answered through Envoy, the service and the upstream. With the embedded upstream: a whole
 * Responses request. With a real one, which may charge for answers: a request that the service itself refuses, which
 * takes the same path except for the last step. Rejects when the signal aborts.
 */
export async function untilAnswered(port: number, upstream: URL | undefined, signal: AbortSignal): Promise<void> {
  const [body, expected] =
    upstream === undefined
      ? [{ model: demoModel, input: 'Are you there?' }, 200]
      : [{ model: 'none', input: 'Are you there?', previous_response_id: 'resp_none' }, 400];
  for (;;) {
    const status = await post(port, body, signal);
    if (status === expected) return;
    await sleep(50, undefined, { signal });
  }
}

async function post(port: number, body: unknown, signal: AbortSignal): Promise<number | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': probeId, 'user-agent': probeAgent },
      body: JSON.stringify(body),
      signal,
    });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TypeError) return null; // Envoy is not listening yet
    throw error;
  }
}

/** A command to paste. */
export function curlFor(port: number, model: string): string {
  const body = JSON.stringify({ model, input: 'Say hello in three words.', stream: true });
  return `curl -N http://127.0.0.1:${port}/v1/responses \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`;
}
