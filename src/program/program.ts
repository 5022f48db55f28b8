import { describeProfiles, openProfiles } from '../service/server/profile-source.ts';
import { workerNumber } from '../service/server/workers.ts';
import { ConfigError, readConfig, redactConfig } from '../service/settings/config.ts';
import { describeCause } from '../service/telemetry/exchange-log.ts';
import { createLog, escapeLine, type LogMessage } from '../service/telemetry/log.ts';
import { createLogOutput } from '../service/telemetry/log-output.ts';
import { version } from '../service/telemetry/version.ts';
import type { Subcommand } from '../tools/cli/terminal.ts';
import { checkConfig } from './check-config.ts';
import { helpText, readCommand } from './command-line.ts';
import { fitToMemory, readMemory } from './process-memory.ts';
import { serve } from './serve.ts';
import { supervise } from './supervise.ts';

const aloneHint =
  'This is the gRPC half: an Envoy sends it the requests. To try both on this machine: npx responses-extproc try, or npm start in a clone.';

/** The end of the process waits for a slow reader of the log for so long. */
const logDrainTimeoutMs = 1_500;

const command = readCommand(process.argv.slice(2));
/** Resolves once the service listens, or another command is done. */
export const started = main().catch((error: unknown) => {
  const message = error instanceof ConfigError ? error.message : String(error);
  // JSON, as in the log, unless standard error is a terminal.
  const json = command.type === 'serve' && !process.stderr.isTTY;
  const msg: LogMessage = 'cannot start';
  const line = { level: 'fatal', time: new Date().toISOString(), reason: message, msg };
  process.stderr.write(`${json ? escapeLine(JSON.stringify(line)) : message}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
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
    // Tools are loaded on demand, so that the service does not start slower.
    case 'explain':
      await runSubcommand((await import('../tools/explain/explain-command.ts')).explain, command.args);
      return;
    case 'doctor':
      await runSubcommand((await import('../tools/doctor/doctor-command.ts')).doctor, command.args);
      return;
    case 'serve':
      await run();
  }
}

async function runSubcommand(subcommand: Subcommand, args: readonly string[]): Promise<void> {
  const { env, stdin, stdout, stderr } = process;
  // The reader may stop early, as `head` does.
  for (const stream of [stdout, stderr]) stream.on('error', () => process.exit(process.exitCode));
  process.exitCode = await subcommand(args, { env, stdin, stdout, stderr });
}

function readFittingConfig() {
  const config = readConfig(process.env);
  checkConfig(config);
  return fitToMemory(config, readMemory());
}

function printConfig(): void {
  const { config } = readFittingConfig();
  const profiles = openProfiles(config);
  const shown = { ...redactConfig(config), ...describeProfiles(profiles) };
  process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  profiles.close();
}

async function run(): Promise<void> {
  const { config, lowered } = readFittingConfig();
  const output = createLogOutput(1);
  const log = createLog(config.LOG_LEVEL, output, workerNumber());
  // Node would wait for a hanging write for as long as nobody reads the log.
  process.once('exit', () => output.flushAtExit() || process.kill(process.pid, 'SIGKILL'));
  process.stderr.on('error', () => {}); // without a reader, the service goes on
  const isWorker = workerNumber() !== null;
  if (process.stderr.isTTY && !isWorker) process.stderr.write(`${aloneHint}\n`);
  if (!isWorker) for (const reason of lowered) log.warn({ reason }, 'limit lowered to fit in memory');
  const running = await (config.WORKERS > 1 && !isWorker ? supervise : serve)(config, log, output);

  let stopping = false;
  let exitCode = 0;
  const stop = async (why: { readonly signal: NodeJS.Signals } | { readonly defect: string }) => {
    if (stopping) return;
    stopping = true;
    log.info(why, 'stopping');
    await running.stop();
    await output.drain(logDrainTimeoutMs);
    process.exit(exitCode);
  };
  // After a defect, what the process holds may be wrong: no new call is taken, and running calls may end.
  process.on('uncaughtException', (thrown, origin) => {
    exitCode = 1;
    log.fatal(describeCause(thrown), 'uncaught exception');
    stop({ defect: origin }).catch(() => process.exit(exitCode));
  });
  // A second SIGTERM changes nothing: systemd signals every process of a service, and the supervisor signals its workers too.
  process.on('SIGTERM', (signal) => void stop({ signal }));
  process.on('SIGINT', (signal) => {
    // A terminal signals every process, but a worker waits for the supervisor's SIGTERM.
    if (isWorker) return;
    // A second Ctrl-C skips the drain.
    if (stopping) process.exit(1);
    void stop({ signal });
  });
}
