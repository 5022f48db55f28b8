import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { probeAgent } from '../src/tools/inspect/recording.ts';
import { thisCommand } from './options.ts';
import { waitUntilListening } from './ports.ts';

export const demoModel = 'demo';

/** The request id of the probes below, by which their log lines can be left out. */
export const probeId = `probe-${randomUUID()}`;

export interface Readiness {
  readonly port: number;
  readonly service: number;
  readonly upstream: URL | undefined;
  readonly signal: AbortSignal;
  /** Called once if `patience` aborts first, after 5 s by default, with the last answer or the reason for none. */
  onWaiting(last: string): void;
  readonly patience?: AbortSignal;
  /** The wait fails when this aborts: after 5 minutes by default, because a machine may be slow. */
  readonly limit?: AbortSignal;
}

/**
 * Resolves once requests are answered through Envoy, the service and the upstream: with null, or with a sentence that
 * says what is wrong. The embedded upstream gets a whole Responses request. A real one may charge for answers, so that
 * the service itself refuses the probe. Rejects when the signal aborts, and at the limit.
 */
export async function waitUntilAnswered({
  port,
  service,
  upstream,
  signal,
  onWaiting,
  patience = AbortSignal.timeout(5000),
  limit = AbortSignal.timeout(300_000),
}: Readiness): Promise<string | null> {
  // With OMITTED_STORE=reject a request must have `store`.
  const body = { model: demoModel, input: 'Are you there?', store: false };
  const probe = upstream === undefined ? body : { ...body, previous_response_id: 'resp_none' };
  let last = `nothing listens on port ${service}, where the service should`;
  let isStarting = true;
  const tell = () => onWaiting(isStarting ? 'the service is still starting' : last);
  patience.addEventListener('abort', tell);
  const until = AbortSignal.any([signal, limit]);
  try {
    await waitUntilListening(service, until);
    isStarting = false;
    last = 'Envoy has not answered';
    for (;;) {
      const answer = await post(port, JSON.stringify(probe), until);
      until.throwIfAborted();
      if (typeof answer === 'string') last = answer;
      else {
        const { status, text } = answer;
        last = `${thisCommand.plain}’s own request got ${status} ${text.slice(0, 500)}`;
        // A request that is refused with a 4xx would be refused again.
        if (status < 500) return upstream !== undefined || status === 200 ? null : last;
      }
      await sleep(50, undefined, { signal: until });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw limit.aborted ? new Error(`${thisCommand.plain} gives up: ${last}`) : error;
  } finally {
    patience.removeEventListener('abort', tell);
  }
}

/** Resolves with the answer, or with the reason why there is none. `fetch` and Node's usual agent might use a proxy. */
function post(port: number, body: string, signal: AbortSignal): Promise<{ status: number; text: string } | string> {
  return new Promise((resolve) => {
    const sent = request({
      host: '127.0.0.1',
      port,
      path: '/v1/responses',
      method: 'POST',
      agent: false,
      signal,
      headers: { 'content-type': 'application/json', 'x-request-id': probeId, 'user-agent': probeAgent },
    });
    sent.on('error', ({ message }) => resolve(`${thisCommand.plain}’s own request got no answer (${message})`));
    sent.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }));
      const broken = `the answer to ${thisCommand.plain}’s own request broke off`;
      response.on('error', ({ message }) => resolve(`${broken} (${message})`));
    });
    sent.end(body);
  });
}

export function writeCurlCommand(port: number, model: string): string {
  const body = JSON.stringify({ model, input: 'Say hello in three words.', stream: true });
  return `curl -N http://127.0.0.1:${port}/v1/responses \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`;
}
