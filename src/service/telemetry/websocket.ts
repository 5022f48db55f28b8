import type { WebSocketObserver } from '../websocket/websocket-server.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Clients choose close codes: only those with a defined meaning have their own label. */
const knownCodes = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013]);

/** Counts turns, closes and refusals, and logs a line for each refusal and each connection that is closed. */
export function createWebSocketObserver(
  log: Log,
  metrics: Metrics,
  onRefused: WebSocketObserver['refused'],
): WebSocketObserver {
  return {
    turnEnded: (outcome) => metrics.webSocketTurns.inc({ outcome }),
    refused(refusal, message) {
      const { id, status, error } = refusal;
      const { code, param } = error;
      onRefused(refusal, message);
      metrics.webSocketRefusals.inc({ code: String(code) });
      log.info({ connection_id: id, status, code, param }, 'websocket refused');
    },
    closed({ id, code, reason, durationMs, turns, bytesIn, bytesOut }) {
      metrics.webSocketCloses.inc({ code: knownCodes.has(code) ? String(code) : 'other' });
      const line = { connection_id: id, code, reason, duration_ms: Math.round(durationMs), turns };
      log.info({ ...line, bytes: [bytesIn, bytesOut] }, 'websocket');
    },
  };
}
