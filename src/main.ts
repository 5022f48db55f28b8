import cluster from 'node:cluster';
import { ConfigError, readConfig, redactConfig } from './config.ts';
import { serve } from './serve.ts';
import { fitToMemory } from './server/overload.ts';
import { describeProfiles, openProfiles } from './server/profile-source.ts';
import { supervise } from './supervise.ts';
import { createLog } from './telemetry/log.ts';

/** Environment → configuration → log → server; then signals. */
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const { config, lowered } = fitToMemory(readConfig(process.env));
  if (process.argv.includes('--print-config')) {
    const profiles = openProfiles(config);
    process.stdout.write(
      `${JSON.stringify({ ...redactConfig(config), profiles: describeProfiles(profiles) }, null, 2)}\n`,
    );
    profiles.close();
    return;
  }
  const log = createLog(config.LOG_LEVEL);
  if (cluster.isPrimary) for (const reason of lowered) log.warn({ reason }, 'a limit does not fit the memory');
  const running = await (config.WORKERS > 1 && cluster.isPrimary ? supervise(config, log) : serve(config, log));

  let stopping = false;
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    await running.stop();
    process.exit(0);
  };
  // Said again, it changes nothing: systemd tells every process of a service, and the supervisor tells its workers too.
  process.on('SIGTERM', stop);
  process.on('SIGINT', (signal) => {
    // A terminal tells every process; what a worker should do is the supervisor's to say.
    if (cluster.isWorker) return;
    // The second Ctrl-C is from somebody who does not want to wait.
    if (stopping) process.exit(1);
    void stop(signal);
  });
}
