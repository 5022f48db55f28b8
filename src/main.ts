import { ConfigError, readConfig } from './config.ts';
import { createExchangeLog } from './server/exchange-log.ts';
import { createService } from './server/server.ts';
import { createLog } from './telemetry/log.ts';

/** Environment → configuration → log → server; then signals. The only file that touches `process`. */
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  if (process.argv.includes('--print-config')) {
    process.stdout.write(`${JSON.stringify(config, null, 2)}\n`);
    return;
  }
  const log = createLog(config.LOG_LEVEL);
  const service = createService({
    config,
    observers: [createExchangeLog(log)],
    onMisconfigured: (problem) => log.error({ problem }, 'misconfigured route'),
  });
  log.info({ listen: await service.listen(), profile: config.UPSTREAM_PROFILE }, 'listening');

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, async () => {
      log.info({ signal, timeout_ms: config.DRAIN_TIMEOUT_MS }, 'draining');
      log.info({ outcome: await service.drain(config.DRAIN_TIMEOUT_MS) }, 'stopped');
      process.exit(0);
    });
  }
}
