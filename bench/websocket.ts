import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { findEnvoy } from '../tools/mesh/envoy-binary.ts';
import { placeEnvoy } from '../tools/mesh/envoy-config.ts';
import { shippedEnvoyConfig, startEnvoy, startService, stopAtOnce } from '../tools/mesh/parts.ts';
import { anyFreePort, untilListening } from '../tools/mesh/ports.ts';
import { startUpstream } from './contenders.ts';
import { modelOf } from './knobs.ts';
import { cpuSeconds, residentBytes } from './process-figures.ts';
import { type Cell, median } from './table.ts';

const turnsOfRound = 200;
const model = modelOf({ tokens: 20, pauseMs: 0, tokenBytes: 32 });
const idleConnections = 1000;
const conversations = 50;

export const webSocketHeadings = ['', 'over HTTP', 'on a WebSocket'];
export const webSocketNote =
  'A turn is a streamed response of 20 tokens, one after the other on one connection; memory is that of the service.';

/** The cost of a turn on a WebSocket and as a separate request, and the memory of an open connection. */
export async function runWebSocket(rounds: number): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const [port, admin, grpc, webSocket] = [
    await anyFreePort(),
    await anyFreePort(),
    await anyFreePort(),
    await anyFreePort(),
  ];
  const at = (number: number) => ({ host: '127.0.0.1', port: number });
  const places = { listen: at(port), admin: at(admin), service: at(grpc), upstream: at(upstream.port) };
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const service = startService(
    {
      ...stopAtOnce,
      LISTEN: `127.0.0.1:${grpc}`,
      ADMIN_LISTEN: 'off',
      LOG_LEVEL: 'warn',
      WEBSOCKET_LISTEN: `127.0.0.1:${webSocket}`,
      WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${port}/v1`,
    },
    (line) => console.error(line),
  );
  const config = placeEnvoy(readFileSync(shippedEnvoyConfig, 'utf8'), { ...places, webSocket: at(webSocket) });
  const envoy = startEnvoy(findEnvoy(process.env), config, { folder, concurrency: 1, logLevel: 'error', onLine() {} });
  try {
    await Promise.all([grpc, port].map((number) => untilListening(number, AbortSignal.timeout(30_000))));
    const url = `ws://127.0.0.1:${port}/v1/responses`;
    const socket = await untilOpen(url);
    const agent = new Agent({ keepAlive: true });
    const turns = { http: () => overHttp(port, agent), webSocket: () => onWebSocket(socket) };
    const cost = async (turn: () => Promise<void>) => {
      const before = [cpuSeconds(service.pid), cpuSeconds(envoy.pid)];
      const times: number[] = [];
      for (let index = 0; index < turnsOfRound; index++) {
        const startedAt = performance.now();
        await turn();
        times.push(performance.now() - startedAt);
      }
      const [ofService = 0, ofEnvoy = 0] = [cpuSeconds(service.pid), cpuSeconds(envoy.pid)].map(
        (seconds, index) => ((seconds - (before[index] ?? 0)) / turnsOfRound) * 1e6,
      );
      return { ms: median(times), ofService, ofEnvoy };
    };
    for (const turn of Object.values(turns)) await cost(turn); // warm
    const seen = {
      http: [] as Awaited<ReturnType<typeof cost>>[],
      webSocket: [] as Awaited<ReturnType<typeof cost>>[],
    };
    for (let round = 0; round < rounds; round++)
      for (const name of ['http', 'webSocket'] as const) seen[name].push(await cost(turns[name]));
    const figure = (name: keyof typeof seen, field: 'ms' | 'ofService' | 'ofEnvoy') =>
      median(seen[name].map((costs) => costs[field]));
    const row = (title: string, field: 'ms' | 'ofService' | 'ofEnvoy'): Cell[] => [
      title,
      figure('http', field),
      figure('webSocket', field),
    ];
    socket.terminate();
    agent.destroy();
    return [
      row('ms for a turn, p50', 'ms'),
      row('CPU µs of the service for a turn', 'ofService'),
      row('CPU µs of Envoy for a turn', 'ofEnvoy'),
      ['KiB of an idle connection', '', await idleKiB(url, service.pid)],
      ['KiB of a connection with 1 MB of conversation', '', await conversationKiB(url, service.pid)],
    ];
  } finally {
    await Promise.all([service.stop(), envoy.stop(), upstream.child.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function idleKiB(url: string, pid: number): Promise<number> {
  const first = await openMany(url, idleConnections / 2); // the code's own memory
  const before = residentBytes(pid);
  const more = await openMany(url, idleConnections);
  const each = (residentBytes(pid) - before) / 1024 / idleConnections;
  for (const socket of [...first, ...more]) socket.terminate();
  return each;
}

async function conversationKiB(url: string, pid: number): Promise<number> {
  const keep = async (sockets: readonly WebSocket[]) => {
    for (const socket of sockets) await turnOn(socket, { generate: false, input: 'x'.repeat(1_000_000) });
  };
  const first = await openMany(url, conversations);
  await keep(first);
  const before = residentBytes(pid);
  const more = await openMany(url, conversations);
  await keep(more);
  const each = (residentBytes(pid) - before) / 1024 / conversations;
  for (const socket of [...first, ...more]) socket.terminate();
  return each;
}

async function openMany(url: string, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 25 }, () => untilOpen(url)))));
  return sockets;
}

/** Envoy may not have noticed yet that the listener is there. */
async function untilOpen(url: string): Promise<WebSocket> {
  for (let attempt = 0; ; attempt++) {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    const error = await new Promise<Error | null>((resolve) => {
      socket.once('open', () => resolve(null));
      socket.once('error', resolve);
    });
    if (error === null) return socket;
    if (attempt > 50) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const onWebSocket = (socket: WebSocket) => turnOn(socket, { model, input: 'Hi' });

function turnOn(socket: WebSocket, fields: object): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('message', function onMessage(data: Buffer) {
      const text = data.toString('utf8', 0, 40);
      if (text.startsWith('{"type":"error"')) reject(new Error(data.toString()));
      if (!text.startsWith('{"type":"response.completed"')) return;
      socket.off('message', onMessage);
      resolve();
    });
    socket.send(JSON.stringify({ type: 'response.create', ...fields }));
  });
}

function overHttp(port: number, agent: Agent): Promise<void> {
  const body = JSON.stringify({ model, input: 'Hi', stream: true });
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: '/v1/responses',
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.on('data', (bytes: Buffer) => {
          text = bytes.toString();
        });
        response.on('end', () => (text.includes('[DONE]') ? resolve() : reject(new Error(text))));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
