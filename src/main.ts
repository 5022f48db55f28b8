import cluster from 'node:cluster';
import { helpText, readCommand } from './command-line.ts';
import { ConfigError, readConfig, redactConfig } from './config.ts';
import { memoryOfProcess } from './memory.ts';
import { serve } from './serve.ts';
import { fitToMemory } from './server/overload.ts';
import { describeProfiles, openProfiles } from './server/profile-source.ts';
import { supervise } from './supervise.ts';
import { createLog } from './telemetry/log.ts';
import { version } from './version.ts';

/** Command line → configuration → log → server; then signals. The only file that ends the process. */
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  switch (command.type) {
    case 'help':
      process.stdout.write(helpText());
      return;
    case 'version':
      process.stdout.write(`${version}\n`);
      return;
    case 'wrong_usage':
      process.stderr.write(`${command.message}\n`);
      process.exitCode = 2;
      return;
    case 'print_config':
      printConfig();
      return;
    case 'serve':
      await run();
  }
}

/** The configuration in use: the environment's, with sizes lowered to what fits this process's memory. */
function configOf() {
  return fitToMemory(readConfig(process.env), memoryOfProcess());
}

function printConfig(): void {
  const { config } = configOf();
  const profiles = openProfiles(config);
  const shown = { ...redactConfig(config), profiles: describeProfiles(profiles) };
  process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  profiles.close();
}

async function run(): Promise<void> {
  const { config, lowered } = configOf();
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
  // A repeated SIGTERM changes nothing: systemd signals every process of a service, and the supervisor its workers too.
  process.on('SIGTERM', stop);
  process.on('SIGINT', (signal) => {
    // A terminal signals every process; a worker waits for the supervisor's SIGTERM.
    if (cluster.isWorker) return;
    // A second Ctrl-C means not waiting for the drain.
    if (stopping) process.exit(1);
    void stop(signal);
  });
}
