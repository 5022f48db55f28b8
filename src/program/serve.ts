import { setLogger } from '@grpc/grpc-js';
import { createHeapGauge } from '../service/memory/heap.ts';
import { OverloadGuard, type OverloadReason } from '../service/memory/overload.ts';
import { startAdminServer } from '../service/server/admin.ts';
import { openProfiles, type ProfileSource } from '../service/server/profile-source.ts';
import { createService } from '../service/server/server.ts';
import { createTlsCredentials, readTlsSettings, type TlsCredentials } from '../service/server/tls.ts';
import { joinSupervisor } from '../service/server/workers.ts';
import type { Config } from '../service/settings/config.ts';
import { createExchangeLog, describeCause } from '../service/telemetry/exchange-log.ts';
import { createExchangeMetrics, providerNameOf } from '../service/telemetry/exchange-metrics.ts';
import { createOccasionalWarning, type Log } from '../service/telemetry/log.ts';
import type { LogOutput } from '../service/telemetry/log-output.ts';
import { createMetrics, type Metrics } from '../service/telemetry/metrics.ts';
import type { ExchangeObserver } from '../service/telemetry/observer.ts';
import { version } from '../service/telemetry/version.ts';
import type { WebSocketEndpoint } from '../service/websocket/websocket-server.ts';
import { describeConfig } from './check-config.ts';
import { createSizeReader, readMemory } from './process-memory.ts';
import { openWebSocket } from './serve-websocket.ts';

/** Runs the service in this process, alone or as a worker. Throws if it cannot listen. */
export async function serve(config: Config, log: Log, output: LogOutput) {
  // grpc-js would write lines of its own to standard error.
  const fromGrpc = (text: unknown) => log.warn({ reason: String(text) }, 'warning of the gRPC library');
  setLogger({ error: fromGrpc, info: () => {}, debug: () => {} });
  const worker = joinSupervisor(() => metrics.registry.getMetricsAsJSON());
  let listening = false;
  const ready = () => listening && service.isReady();
  const metrics: Metrics = createMetrics({
    version,
    profile: config.UPSTREAM_PROFILE,
    worker: worker?.number ?? null,
    state: () => ({
      ready: ready(),
      exchanges: guard.exchanges,
      bufferedBytes: guard.held,
      profilesRejected: profiles.problem() !== null,
      lostLogLines: output.lost,
    }),
  });
  const guard = createGuard(config, (limit) => metrics.overload.inc({ limit }));
  const tracing = await loadTracing(config, log, metrics);
  const tls = loadTls(config, log, metrics);
  const profiles = watchProfiles(config, log, metrics);
  let webSocket: WebSocketEndpoint | null = null;
  const messageOf = (requestId: string) => webSocket?.findMessage(requestId) ?? null;
  const warnOfRecorder = createOccasionalWarning(log, 'internal error');
  const recorderFailed = (thrown: unknown) => warnOfRecorder(1, describeCause(thrown));
  const inspection = config.INSPECT === 'on' ? await loadInspection(config, messageOf, recorderFailed) : null;
  const observers: ExchangeObserver[] = [createExchangeLog(log, output), createExchangeMetrics(metrics)];
  if (inspection !== null) observers.push(inspection.recorder.observer);
  if (tracing !== null) observers.push(tracing.observer);
  const warnOfHandshake = createOccasionalWarning(log, 'TLS handshake failed');
  const service = createService({
    config: { ...config, LISTEN: config.LISTEN.replaceAll('{worker}', String(worker?.number ?? 1)) },
    createExchange: inspection?.recorder.createExchange,
    credentials: tls?.credentials,
    removesStaleSockets: worker === null,
    guard,
    observers,
    profiles,
    onAvailability(available) {
      worker?.setReady(ready());
      if (available) log.info('available again: ready');
      else log.warn({ exchanges: guard.exchanges, buffered_bytes: guard.held }, 'overloaded: not ready');
    },
    onHandshakeFailure(reason, address) {
      metrics.tlsHandshakeFailures.inc();
      warnOfHandshake(1, { reason, address });
    },
    onMisconfigured: (problem) => log.error({ problem }, 'misconfigured route'),
    onFault: (thrown) => log.error(describeCause(thrown), 'internal error'),
  });

  const listen = await service.listen();
  if (config.WEBSOCKET_LISTEN !== '')
    webSocket = await openWebSocket(config, guard, log, metrics, worker !== null, inspection?.recorder.refused);
  listening = true;
  worker?.setReady(true);
  const admin =
    worker !== null || config.ADMIN_LISTEN === 'off'
      ? null
      : await startAdminServer(config.ADMIN_LISTEN, {
          hosts: config.ADMIN_HOSTS,
          ready,
          metrics: async () => ({ contentType: metrics.registry.contentType, body: await metrics.registry.metrics() }),
          config: () => describeConfig(config, profiles),
          routes: inspection?.inspector ?? null,
        });
  if (admin !== null && inspection !== null) logInspector(log, admin.address);
  const { address: websocket = null } = webSocket ?? {};
  log.info(
    { version, listen, websocket, admin: admin?.address ?? null, profile: config.UPSTREAM_PROFILE },
    'listening',
  );

  return {
    async stop(): Promise<void> {
      worker?.setReady(false);
      log.info(
        { delay_ms: config.DRAIN_DELAY_MS, timeout_ms: config.DRAIN_TIMEOUT_MS, exchanges: guard.exchanges },
        'draining',
      );
      const [outcome] = await Promise.all([
        service.drain(config.DRAIN_TIMEOUT_MS, config.DRAIN_DELAY_MS),
        webSocket?.drain(config.DRAIN_TIMEOUT_MS, config.DRAIN_DELAY_MS),
      ]);
      tls?.close();
      profiles.close();
      inspection?.inspector.close();
      await Promise.all([tracing?.close(), admin?.close()]);
      log.info({ outcome }, 'stopped');
    },
  };
}

function createGuard(config: Config, onRefused: (limit: OverloadReason) => void): OverloadGuard {
  const memory = readMemory();
  const limits = { maxExchanges: config.MAX_EXCHANGES, maxBufferedBytes: config.MAX_BUFFERED_BYTES };
  const resident = { limit: memory.total / config.WORKERS, bytes: createSizeReader() };
  return new OverloadGuard(limits, createHeapGauge(memory.heap), onRefused, resident);
}

function watchProfiles(config: Config, log: Log, metrics: Metrics): ProfileSource {
  const profiles: ProfileSource = openProfiles(config, (problem) => {
    metrics.profileReloads.inc({ result: problem === null ? 'taken' : 'rejected' });
    if (problem === null) log.info({ profiles: [...profiles.ofFile().keys()] }, 'profiles file read again');
    else log.error({ reason: problem.message }, 'the changed profiles file cannot be used');
  });
  return profiles;
}

/** Loads the inspector, which costs memory and time, only where it is on. */
async function loadInspection(
  config: Config,
  messageOf: WebSocketEndpoint['findMessage'],
  failed: (thrown: unknown) => void,
) {
  const { createRecorder } = await import('../tools/inspect/record-exchanges.ts');
  const { createInspector } = await import('../tools/inspect/inspector.ts');
  const { createExchangeStore } = await import('../tools/inspect/exchange-store.ts');
  const { createExplainer } = await import('./explainer.ts');
  const store = createExchangeStore();
  const sendTo = config.INSPECT_SEND_TO === '' ? null : config.INSPECT_SEND_TO;
  const inspector = createInspector({ store, version, sendTo, explainer: createExplainer() });
  return { recorder: createRecorder(store, messageOf, failed), inspector };
}

/** Logs the inspector's address and what it exposes: as a warning, unless only this machine can reach it. */
function logInspector(log: Log, address: string): void {
  const level = /^(127\.|\[::1\]:)/.test(address) ? 'info' : 'warn';
  log[level](
    { url: `http://${address}/inspect` },
    'INSPECT=on: anyone who can reach the admin port sees the contents of requests and answers',
  );
}

/** Loads the OpenTelemetry packages, which cost memory and start-up time, only if there is somewhere to send spans. */
async function loadTracing(config: Config, log: Log, metrics: Metrics) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = config;
  if (base === '' && own === '') return null;
  const warn = createOccasionalWarning(log, 'spans did not reach the collector');
  const { createTracing } = await import('../service/telemetry/tracing.ts');
  return createTracing({
    url: own === '' ? `${base.replace(/\/+$/, '')}/v1/traces` : own,
    serviceName: config.OTEL_SERVICE_NAME,
    version,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    providerOf: providerNameOf,
    onLost(spans, reason) {
      metrics.spansLost.inc(spans);
      warn(spans, { reason });
    },
  });
}

function loadTls(config: Config, log: Log, metrics: Metrics): TlsCredentials | null {
  const files = readTlsSettings(config);
  if (files === null) return null;
  const showExpiry = () => metrics.certificateExpiry.set(tls.certificate().validToDate.getTime() / 1000);
  const tls: TlsCredentials = createTlsCredentials(files, (problem) => {
    metrics.certificateReloads.inc({ result: problem === null ? 'taken' : 'rejected' });
    if (problem !== null) return log.error({ reason: problem.message }, 'the changed certificate files cannot be used');
    showExpiry();
    const { subject, validTo } = tls.certificate();
    log.info({ subject, validTo }, 'certificate files read again');
  });
  showExpiry();
  return tls;
}
