/**
 * The load of the bench: `node bench/load.ts '{"port": …}'` sends requests and prints one line of JSON. Every answer is
 * checked: all tokens, in order, and a terminal event. An incomplete answer counts as failed, not as served.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Knobs, markerBytes, modelOf } from './knobs.ts';
import { type History, writeRequest } from './request-body.ts';

export interface LoadOptions {
  readonly port: number;
  /** What the answer is: `responses` of the service, `chat` through a filter that changes nothing. */
  readonly api: 'responses' | 'chat';
  readonly stream: boolean;
  readonly knobs: Knobs;
  readonly connections: number;
  /** Each connection sends this many requests, one after the other … */
  readonly requests?: number;
  /** … or as many as it can for this long. */
  readonly seconds?: number | undefined;
  /** Connections begin spread over this time. */
  readonly rampSeconds?: number;
  /** What each request has before its question. */
  readonly history?: History;
}

export interface LoadReport {
  readonly requests: number;
  readonly tokens: number;
  readonly failures: readonly string[];
  readonly seconds: number;
  /** One way, upstream's write to client's read; of JSON answers the whole request. */
  readonly latencyMs: { readonly p50: number; readonly p99: number };
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const body = writeRequest({ ...options, model: modelOf(options.knobs) });
const latencies: number[] = [];
const failures: string[] = [];
let requests = 0;
let tokens = 0;

const began = performance.now();
await Promise.all(Array.from({ length: options.connections }, (_, index) => connection(index)));
latencies.sort((a, b) => a - b);
const report: LoadReport = {
  requests,
  tokens,
  failures,
  seconds: (performance.now() - began) / 1000,
  latencyMs: { p50: quantile(0.5), p99: quantile(0.99) },
};
console.log(JSON.stringify(report));
agent.destroy();

async function connection(index: number): Promise<void> {
  const { rampSeconds = 0, connections, seconds } = options;
  await sleep((index / connections) * rampSeconds * 1000);
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : began + seconds * 1000;
  const most = seconds === undefined ? (options.requests ?? 1) : Number.POSITIVE_INFINITY;
  for (let sent = 0; sent < most && performance.now() < until; sent++) {
    const start = performance.now();
    try {
      const received = await send();
      requests += 1;
      tokens += received;
      if (!options.stream) latencies.push(performance.now() - start);
    } catch (error) {
      failures.push(String(error).slice(0, 200));
      await sleep(10);
    }
  }
}

/** Sends one request; returns the number of its tokens. Throws if the answer is incomplete. */
function send(): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        port: options.port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/v1/responses', // where Envoy's filter is on; this upstream accepts any path
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          authorization: 'Bearer sk-bench',
        },
      },
      (response) => {
        const reader = createReader();
        response.on('data', reader.push);
        response.on('error', reject);
        response.on('end', () => {
          const problem =
            response.statusCode === 200 ? reader.problem() : `status ${response.statusCode} ${reader.end()}`;
          if (problem === null) resolve(reader.count());
          else reject(new Error(problem));
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/**
 * Counts the tokens that are new: those of delta events, or of a JSON answer. The Responses API repeats the text in its
 * closing events, so a token counts only when its index is the next one.
 */
function createReader() {
  let held = '';
  let next = 0;
  const terminal = options.stream ? (options.api === 'chat' ? '[DONE]' : 'event: response.completed') : '"usage"';
  let isEnded = false;
  return {
    push(bytes: Buffer): void {
      const now = process.hrtime.bigint();
      const text = held + bytes.toString('latin1');
      let at = text.indexOf('@');
      while (at !== -1 && at + markerBytes <= text.length) {
        if (Number(text.slice(at + 18, at + markerBytes)) === next) {
          next += 1;
          if (options.stream) latencies.push(Number(now - BigInt(text.slice(at + 1, at + 17))) / 1e6);
        }
        at = text.indexOf('@', at + markerBytes);
      }
      isEnded ||= text.includes(terminal);
      held = text.slice(at === -1 ? -terminal.length : at);
    },
    problem(): string | null {
      if (next !== options.knobs.tokens) return `${next} of ${options.knobs.tokens} tokens`;
      return isEnded ? null : 'no terminal event';
    },
    count: () => next,
    end: () => held,
  };
}

function quantile(part: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))] ?? Number.NaN;
}
