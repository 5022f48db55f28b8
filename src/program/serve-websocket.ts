import type { OverloadGuard } from '../service/memory/overload.ts';
import { parseHostPort } from '../service/server/admin.ts';
import { removeStaleSocket } from '../service/server/server.ts';
import type { Config } from '../service/settings/config.ts';
import { settings } from '../service/settings/settings-table.ts';
import { describeCause } from '../service/telemetry/exchange-log.ts';
import { createSampledInfo, type Log } from '../service/telemetry/log.ts';
import { webSocketRows } from '../service/telemetry/metric-rows.ts';
import { type Metrics, readAtScrapes } from '../service/telemetry/metrics.ts';
import { contain } from '../service/telemetry/observer.ts';
import type { WebSocketObserver } from '../service/websocket/client-socket.ts';
import type { WebSocketEndpoint } from '../service/websocket/websocket-server.ts';

/** The close codes with a label of their own in metrics: those with a defined meaning, since clients may send any. */
const knownCodes = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013]);

/** Opens the listener of `WEBSOCKET_LISTEN`, whose code is loaded here, and observes it for metrics and log. Rejects if the address is taken. */
export async function openWebSocket(
  config: Config,
  guard: OverloadGuard,
  log: Log,
  metrics: Metrics,
  isWorker: boolean,
  onRefused: WebSocketObserver['refused'] = () => {},
): Promise<WebSocketEndpoint> {
  const { startWebSocketEndpoint } = await import('../service/websocket/websocket-server.ts');
  const logRefusal = createSampledInfo(log, 'websocket refused');
  const address = config.WEBSOCKET_LISTEN;
  // With workers, only the supervisor removes a socket, which another worker may just have bound.
  if (!isWorker) await removeStaleSocket(address);
  const path = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1];
  const observer: WebSocketObserver = {
    failed: (thrown) => log.error(describeCause(thrown), 'internal error'),
    turnEnded: (outcome) => metrics.webSocketTurns.inc({ outcome }),
    refused(refusal, message) {
      const { id, status, error } = refusal;
      const { code, param } = error;
      metrics.webSocketRefusals.inc({ code: String(code) });
      logRefusal({ connection_id: id, status, code, param });
      onRefused(refusal, message);
    },
    closed({ id, code, reason, durationMs, turns, bytesIn, bytesOut }) {
      metrics.webSocketCloses.inc({ code: knownCodes.has(code) ? String(code) : 'other' });
      const line = { connection_id: id, code, reason, duration_ms: Math.round(durationMs), turns };
      log.info({ ...line, bytes: [bytesIn, bytesOut] }, 'websocket closed');
    },
  };
  const endpoint = await startWebSocketEndpoint({
    listen: path === undefined ? parseHostPort(address) : { path },
    forwardTo: config.WEBSOCKET_FORWARD_TO,
    limits: {
      maxLanes: 16,
      maxWaiting: 32,
      maxUnasked: 128,
      maxEventBytes: config.MAX_RESPONSE_BYTES,
      maxErrorBytes: settings.exchange.bodyLimits.maxErrorBytes,
      maxValues: config.MAX_REQUEST_VALUES,
    },
    maxConnections: config.WEBSOCKET_MAX_CONNECTIONS,
    maxMessageBytes: config.MAX_REQUEST_BYTES,
    origins: config.WEBSOCKET_ORIGINS,
    lifetimeMs: config.WEBSOCKET_LIFETIME_MS,
    pingMs: 30_000,
    writeTimeoutMs: 60_000,
    memory: guard,
    observer: contain(observer, observer.failed),
  });
  readAtScrapes(webSocketRows, () => endpoint, metrics.registry);
  return endpoint;
}
