import { AggregatorRegistry } from 'prom-client';
import { startAdminServer } from '../service/server/admin.ts';
import { openProfiles } from '../service/server/profile-source.ts';
import { removeStaleSocket } from '../service/server/server.ts';
import { superviseWorkers } from '../service/server/workers.ts';
import type { Config } from '../service/settings/config.ts';
import type { Log } from '../service/telemetry/log.ts';
import type { LogOutput } from '../service/telemetry/log-output.ts';
import { createSupervisorMetrics } from '../service/telemetry/metrics.ts';
import { version } from '../service/telemetry/version.ts';
import { describeConfig } from './check-config.ts';

/** Runs `WORKERS` processes of the service and one admin port for all of them. Rejects when none could start. */
export async function supervise(config: Config, log: Log, output: LogOutput) {
  for (let number = 1; number <= config.WORKERS; number++)
    for (const address of config.LISTEN.replaceAll('{worker}', `${number}`).split(','))
      await removeStaleSocket(address.trim());
  await removeStaleSocket(config.WEBSOCKET_LISTEN);
  const supervisor = superviseWorkers(config.WORKERS, ({ number, pid, how, restartInMs }) =>
    log.error({ worker: number, pid, how, restart_in_ms: restartInMs }, 'worker exited'),
  );
  const own = createSupervisorMetrics(() => {
    const { readyWorkers, restarts } = supervisor;
    return { readyWorkers, restarts, lostLogLines: output.lost };
  });
  const profiles = openProfiles(config); // for `/config` alone: each worker reads the file itself
  const stop = async () => {
    await supervisor.stop('SIGTERM');
    profiles.close();
    await admin?.close();
    log.info('every worker has stopped');
  };
  const admin =
    config.ADMIN_LISTEN === 'off'
      ? null
      : await startAdminServer(config.ADMIN_LISTEN, {
          hosts: config.ADMIN_HOSTS,
          ready: () => supervisor.readyWorkers > 0,
          async metrics() {
            const all = AggregatorRegistry.aggregate([
              await own.getMetricsAsJSON(),
              ...(await supervisor.collectMetrics()),
            ]);
            return { contentType: all.contentType, body: await all.metrics() };
          },
          config: () => describeConfig(config, profiles),
        });
  log.info({ version, workers: config.WORKERS, admin: admin?.address ?? null }, 'workers started');
  await supervisor.started;
  return { stop };
}
