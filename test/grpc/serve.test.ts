import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { experimental, logVerbosity } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { serve } from '../../src/program/serve.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { createLog } from '../../src/service/telemetry/log.ts';
import type { LogOutput } from '../../src/service/telemetry/log-output.ts';
import { createAuthority, replaceFiles } from '../support/certificates.ts';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { until } from '../support/service.ts';
import { startTraceCollector } from '../support/trace-collector.ts';
import { startScriptedUpstream } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';

/** The service of a process as `program.ts` starts it, in this process: what it logs, what its admin port says, how it ends. */
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });

type Line = Readonly<Record<string, unknown>>;
let folder: string;
let lines: Line[];
let clients: ExtProcClient[];
let stop: () => Promise<void>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'extproc-serve-'));
  lines = [];
  clients = [];
  stop = async () => {};
});
afterEach(async () => {
  for (const client of clients) client.close();
  await stop();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

async function start(environment: Readonly<Record<string, string>> = {}) {
  const own = lines;
  const write = (line: string) => void own.push(JSON.parse(line));
  const output = { write, lost: 3 } as unknown as LogOutput;
  const usual = { LISTEN: '127.0.0.1:0', ADMIN_LISTEN: '127.0.0.1:0', DRAIN_DELAY_MS: '0', DRAIN_TIMEOUT_MS: '0' };
  const running = await serve(readConfig({ ...usual, ...environment }), createLog('debug', output), output);
  stop = async () => {
    stop = async () => {};
    await running.stop();
  };
  const listening = lines.find(({ msg }) => msg === 'listening') as Line & { listen: string[] };
  const get = async (path: string) => {
    const response = await fetch(`http://${listening['admin']}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return {
    listening,
    get,
    client() {
      const client = connectExtProc(listening.listen[0] ?? '');
      clients.push(client);
      return client;
    },
    /** The sample with that name and labels; undefined where there is none. */
    async metric(name: string) {
      const { text } = await get('/metrics');
      const line = text.split('\n').find((one) => one.startsWith(`responses_extproc_${name} `));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    },
  };
}

/** The lines with that message, without their level and time; waits for the first. */
async function logged(message: string): Promise<Line[]> {
  await until(() => lines.some(({ msg }) => msg === message));
  return lines.filter(({ msg }) => msg === message).map(({ time: _time, msg: _msg, ...line }) => line);
}

describe('a service', () => {
  test('says where it listens, is ready, counts and logs, and says how it ends', async () => {
    const { listening, get, client, metric } = await start({ UPSTREAM_PROFILE: 'vllm', DRAIN_TIMEOUT_MS: '1' });
    expect(listening).toEqual({
      level: 'info',
      time: expect.any(String),
      version,
      listen: [expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/)],
      websocket: null,
      admin: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/),
      profile: 'vllm',
      msg: 'listening',
    });
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ready\n' });
    expect(JSON.parse((await get('/config')).text)).toMatchObject({ version, UPSTREAM_PROFILE: 'vllm', profiles: {} });
    const { call } = await sendRequest(client(), body);
    expect([await metric('ready'), await metric('active_exchanges'), await metric('log_lines_lost_total')]).toEqual([
      ...[1, 1, 3],
    ]);
    await beginStream(call);
    expect(await metric('buffered_bytes')).toBeGreaterThan(0);
    await endStream(call);
    call.cancel();
    expect(await logged('exchange')).toMatchObject([{ level: 'info', outcome: 'completed', profile: 'vllm' }]);

    expect(await metric('exchanges_total{outcome="completed",profile="vllm"}')).toBe(1);
    expect([await metric('profiles_rejected'), await metric('tls_certificate_not_after_seconds')]).toEqual([0, 0]);
    await stop();
    expect(await logged('draining')).toEqual([{ level: 'info', delay_ms: 0, timeout_ms: 1, exchanges: 0 }]);
    // The client keeps its connection, so that the end of the drain may come first.
    expect(await logged('stopped')).toEqual([{ level: 'info', outcome: expect.stringMatching(/^(drained|forced)$/) }]);
    await expect(get('/readyz')).rejects.toThrow();
  });

  test('has no admin port where it is off, and is the first worker where it is alone', async () => {
    const { listening } = await start({ ADMIN_LISTEN: 'off', LISTEN: `unix:${folder}/{worker}.sock` });
    expect(listening).toMatchObject({ admin: null, listen: [`unix:${folder}/1.sock`] });
  });

  test('refuses what is too much, counts it, and says when it is not ready and when it is again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { get, client, metric } = await start({ MAX_EXCHANGES: '1' });
    const { call } = await sendRequest(client(), body);
    const { last } = await sendRequest(client(), body);
    expect(last.immediate_response?.status?.code).toBe(503);
    expect(await metric('overload_total{limit="exchanges"}')).toBe(1);
    vi.advanceTimersByTime(1500);
    const [line] = await logged('overloaded: not ready');
    expect(line).toEqual({ level: 'warn', exchanges: 1, buffered_bytes: expect.any(Number) });
    expect([(await get('/readyz')).status, await metric('ready')]).toEqual([503, 0]);
    call.cancel();
    await until(() => lines.some(({ outcome }) => outcome === 'aborted'));
    vi.advanceTimersByTime(500);
    expect(await logged('available again: ready')).toEqual([{ level: 'info' }]);
    expect((await get('/readyz')).status).toBe(200);
  });

  test('tells the operator of a route that is wrong, and of what the gRPC library has to say', async () => {
    const { client } = await start();
    await sendRequest(client(), body, { metadata: { 'x-upstream-profile': 'skynet' } });
    expect(await logged('misconfigured route')).toEqual([
      { level: 'error', problem: expect.stringContaining('x-upstream-profile is "skynet"') },
    ]);
    experimental.log(logVerbosity.ERROR, 'of the library');
    experimental.log(logVerbosity.INFO, 'not this');
    expect(await logged('warning of the gRPC library')).toEqual([{ level: 'warn', reason: 'of the library' }]);
  });

  test('takes a changed profiles file, and keeps the last that could be used', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const file = join(folder, 'profiles.yaml');
    const write = (name: string) => writeFileSync(file, `profiles:\n  ${name}:\n    extends: vllm\n`);
    write('one');
    const { get, metric } = await start({ UPSTREAM_PROFILES_FILE: file });
    write('two');
    vi.advanceTimersByTime(10_000);
    expect(await logged('profiles file read again')).toEqual([{ level: 'info', profiles: ['two'] }]);
    writeFileSync(file, 'profiles: 7');
    vi.advanceTimersByTime(10_000);
    expect(await logged('the changed profiles file cannot be used')).toEqual([
      { level: 'error', reason: expect.stringContaining('profiles') },
    ]);
    for (const result of ['taken', 'rejected'])
      expect(await metric(`profile_reloads_total{result="${result}"}`), result).toBe(1);
    expect(await metric('profiles_rejected')).toBe(1);
    expect(Object.keys(JSON.parse((await get('/config')).text).profiles)).toEqual(['two']);
  });

  test('takes changed certificates, counts their end, and tells of handshakes that fail', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const authority = createAuthority('test');
    onTestFinished(() => authority.remove());
    const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
    replaceFiles(authority.issue('first'), files);
    const { listening, metric } = await start({ TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile });
    const end = await metric('tls_certificate_not_after_seconds');
    // Two days, as the authority of the tests issues them.
    expect(Math.abs((end ?? 0) - Date.now() / 1000 - 2 * 86_400)).toBeLessThan(3600);
    replaceFiles(authority.issue('second'), files);
    vi.advanceTimersByTime(10_000);
    expect(await logged('certificate files read again')).toEqual([
      { level: 'info', subject: 'CN=second', validTo: expect.any(String) },
    ]);
    writeFileSync(files.keyFile, 'none');
    vi.advanceTimersByTime(10_000);
    expect(await logged('the changed certificate files cannot be used')).toEqual([
      { level: 'error', reason: expect.any(String) },
    ]);
    for (const result of ['taken', 'rejected'])
      expect(await metric(`tls_reloads_total{result="${result}"}`), result).toBe(1);
    const socket = connect(Number(listening.listen[0]?.split(':')[1]), '127.0.0.1').on('error', () => {});
    socket.end('no handshake at all\n');
    expect(await logged('TLS handshake failed')).toEqual([
      { level: 'warn', reason: expect.any(String), address: '127.0.0.1', count: 1 },
    ]);
    expect(await metric('tls_handshake_failures_total')).toBe(1);
  });

  test.each([
    ['the base of its collector', (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}//` })],
    [
      'the address of traces, which comes first',
      (url: string) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
      }),
    ],
  ])('sends spans to %s', async (_, endpoint) => {
    const collector = await startTraceCollector();
    onTestFinished(() => collector.close());
    const names = { OTEL_SERVICE_NAME: 'mine' };
    const { client } = await start({ ...endpoint(collector.url), ...names });
    const { call } = await sendRequest(client(), body);
    call.cancel();
    await until(() => collector.spans.length === 1);
    expect(collector.spans[0]).toMatchObject({ resource: { 'service.name': 'mine', 'service.version': version } });
  });

  test('counts spans that did not reach the collector, and says why', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '1000'); // which the exporter reads by itself
    onTestFinished(() => void vi.unstubAllEnvs());
    const { client, metric } = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    });
    const { call } = await sendRequest(client(), body);
    call.cancel();
    expect(await logged('spans did not reach the collector')).toEqual([
      { level: 'warn', reason: expect.any(String), count: 1 },
    ]);
    expect(await metric('spans_lost_total')).toBe(1);
  });
});

describe('the inspector', () => {
  test.each([
    ['127.0.0.1:0', 'info'],
    ['[::1]:0', 'info'],
    ['0.0.0.0:0', 'warn'],
  ])('on %s is told of at the level %s', async (ADMIN_LISTEN, level) => {
    const { listening } = await start({ INSPECT: 'on', ADMIN_LISTEN });
    expect(
      await logged('INSPECT=on: anyone who can reach the admin port sees the contents of requests and answers'),
    ).toEqual([{ level, url: `http://${listening['admin']}/inspect` }]);
  });

  test('is on the admin port, and only where it was asked for', async () => {
    const { get } = await start({ INSPECT: 'on' });
    expect((await get('/inspect')).status).toBe(200);
    expect((await get('/')).text).toContain('/inspect');
    await stop();
    lines = [];
    const without = await start();
    expect((await without.get('/inspect')).status).toBe(404);
    expect(lines).toHaveLength(1);
  });
});

describe('the listener for WebSockets', () => {
  test('is told of, its turns and closes are counted, and what it refuses is logged', async () => {
    const proxy = await startScriptedUpstream({ http2: true });
    onTestFinished(() => proxy.close());
    const completed = 'data: {"type":"response.completed","response":{"id":"resp_1","output":[]}}\n\n';
    proxy.script('m', { headers: { 'content-type': 'text/event-stream' }, body: [completed] });
    const { listening, metric } = await start({
      WEBSOCKET_LISTEN: '127.0.0.1:0',
      WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${proxy.port}/v1`,
    });
    const address = `http://${listening['websocket']}/v1/responses`;
    const client = await openWebSocket(address, { 'x-request-id': 'conversation-7' });
    await client.turn({ model: 'm', input: 'Hi' });
    expect([await metric('websocket_connections'), await metric('websocket_kept_bytes')]).toEqual([
      1,
      expect.any(Number),
    ]);
    await client.turn({ model: 'm', input: 'Hi', background: true });
    await expect(openWebSocket(address, { origin: 'https://a.example' })).rejects.toThrow();
    await client.close();
    const [closed] = await logged('websocket closed');
    expect(closed).toEqual({
      level: 'info',
      connection_id: 'conversation-7',
      code: expect.any(Number),
      reason: null,
      duration_ms: expect.any(Number),
      turns: { completed: 1, error: 1 },
      bytes: [expect.any(Number), expect.any(Number)],
    });
    expect(await logged('websocket refused')).toEqual([
      { level: 'info', connection_id: 'conversation-7', status: 400, code: 'unsupported_value', param: 'background' },
      { level: 'info', connection_id: null, status: 403, code: 'origin_not_allowed', param: null },
    ]);
    for (const [name, expected] of [
      ['websocket_turns_total{outcome="completed"}', 1],
      ['websocket_turns_total{outcome="error"}', 1],
      [`websocket_closes_total{code="${closed?.['code']}"}`, 1],
      ['websocket_refusals_total{code="unsupported_value"}', 1],
      ['websocket_refusals_total{code="origin_not_allowed"}', 1],
      ['websocket_connections', 0],
      ['websocket_evictions_total', 0],
    ] as const)
      expect(await metric(name), name).toBe(expected);
    const odd = await openWebSocket(address);
    odd.socket.close(4321);
    await odd.closed;
    await until(() => lines.filter(({ msg }) => msg === 'websocket closed').length === 2);
    expect(await metric('websocket_closes_total{code="other"}')).toBe(1);
    const late = await openWebSocket(address);
    await stop();
    expect(await late.closed).toMatchObject({ code: 1001 });
  });

  test('may be a UNIX socket, also one that was left behind', async () => {
    const path = join(folder, 'ws.sock');
    for (let round = 0; round < 2; round += 1) {
      lines = [];
      const { listening } = await start({
        WEBSOCKET_LISTEN: `unix:${path}`,
        WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:1',
      });
      expect(listening['websocket']).toBe(`unix:${path}`);
      const client = await openWebSocket(`ws+unix://${path}:/v1/responses`);
      await client.close();
      await stop();
    }
  });
});
