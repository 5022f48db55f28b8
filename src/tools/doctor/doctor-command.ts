import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { createStyle, type Subcommand, type Terminal, UsageError } from '../cli/terminal.ts';
import { findCallForm } from './chat-body.ts';
import { type DoctorOptions, helpText, parseDoctorOptions } from './doctor-options.ts';
import { askForModels, createAskBelow, explainAddress } from './first-questions.ts';
import { allProbes } from './probes/all-probes.ts';
import { readModelNames } from './probes/server-probes.ts';
import { type Proposal, proposeProfile } from './proposal.ts';
import { judgeServer, type Report, writeAnnouncement, writeJsonReport, writeTextReport } from './report.ts';
import { computeWorstCase, listNames, type RunParts, runProbes } from './run-probes.ts';
import { createSend, type Send } from './send-probe.ts';
import { listWarnings } from './warnings.ts';

const exitCodes = { usable: 0, unusable: 1, unclear: 3, no_such_model: 4 } as const;
const usageErrorExitCode = 2;
const hint = 'Run with --help to see the options.\n';

/** `responses-extproc doctor`: probes a Chat server, and prints what works and the profile that fits. */
export const doctor: Subcommand = async (args, terminal) => {
  const { env, stdout, stderr } = terminal;
  let options: DoctorOptions | null;
  try {
    options = parseDoctorOptions(args, env);
    if (options?.save != null) checkSavePath(options.save);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    stderr.write(`${error.message} ${hint}`);
    return usageErrorExitCode;
  }
  if (options === null) {
    stdout.write(helpText);
    return 0;
  }
  const interrupted = new AbortController();
  // A second Ctrl-C ends the process, as usual.
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    return await examine(options, terminal, interrupted.signal);
  } finally {
    process.off('SIGINT', interrupt);
  }
};

async function examine(given: DoctorOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = terminal;
  const { chatUrl, key, limits, json, save } = given;
  const onProgress = (line: string) => stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  const sender = createSend({ chatUrl, key, timeoutMs: given.timeout * 1000, signal });
  const list = await askForModels(sender, given, {
    onProgress,
    isOver: () => signal.aborted,
    now: () => performance.now(),
    sleep: (milliseconds) => sleep(milliseconds, undefined, { signal }).catch(() => {}),
  });
  const names = readModelNames(list) ?? [];
  const [only] = names;
  if (given.model === '' && (only === undefined || names.length > 1)) {
    const known = only === undefined ? '' : ` The server has: ${hideKey(listNames(names), key)}.`;
    stderr.write(`--model is missing. Give the name that the server uses for the model.${known} ${hint}`);
    return usageErrorExitCode;
  }
  const options = { ...given, model: given.model || (only ?? '') };
  const { model } = options;
  // The first probe asks for the list of models again, and gets the answer that is here.
  const send: Send = (request, from) =>
    request.path === 'models' && from.probe === 'models' ? Promise.resolve(list) : sender(request, from);
  const spending = computeWorstCase(allProbes, limits);
  // With --json standard output has nothing but the report.
  (json ? stderr : stdout).write(writeAnnouncement(hideQuery(chatUrl), model, spending, limits));
  const timeoutMs = given.timeout * 1000;
  const ask = createAskBelow((at) => createSend({ chatUrl: at, key, timeoutMs, signal }));
  const report = await diagnose(options, send, {
    signal,
    onProgress,
    longestReadMs: timeoutMs,
    explainAddress: (answer) => explainAddress(new URL(removeChatPath(hideQuery(chatUrl))), answer, ask),
    goOn: async (what) => options.keepGoing || askUser(`${what}. Go on?`, terminal, signal),
  });
  if (stderr.isTTY) stderr.write('\r\u001b[K');
  const text = json ? writeJsonReport(report) : writeTextReport(report, createStyle(terminal));
  stdout.write(hideKey(text, key));
  if (save !== null && report.proposal !== null) {
    writeFileSync(save, report.proposal.file, { flag: 'wx' });
    stderr.write(`The profile is in ${save}.\n`);
  } else if (save !== null) stderr.write(`${save} was not written: the run was not completed.\n`);
  if (!json && report.proposal !== null) stdout.write(writeTryLine(options, report.proposal));
  return exitCodes[report.verdict.outcome];
}

function removeChatPath(url: string): string {
  return url.replace(/\/chat\/completions$/, '');
}

/** The shell command that runs the whole mesh with this server, from a clone. It contains no secret. */
function writeTryLine({ chatUrl, key, save }: DoctorOptions, { name, differences }: Proposal): string {
  const file = differences.length === 0 ? '' : `UPSTREAM_PROFILES_FILE=${save ?? 'FILE'} `;
  const withKey = key === null ? '' : 'UPSTREAM_KEY=… ';
  const base = removeChatPath(hideQuery(chatUrl));
  return `To try it in a clone:\n  ${file}${withKey}npm start -- --upstream ${base} --profile ${name}\n`;
}

export interface Watcher extends Omit<RunParts, 'send' | 'now' | 'yieldToOthers' | 'onProbe'> {
  onProgress(line: string): void;
}

/** Runs all probes, and judges the server by what they found. */
export async function diagnose(
  { chatUrl, model, key, limits }: Pick<DoctorOptions, 'chatUrl' | 'model' | 'key' | 'limits'>,
  send: Send,
  { onProgress, ...parts }: Watcher,
): Promise<Report> {
  const run = await runProbes(allProbes, { model, hasKey: key !== null, url: chatUrl }, limits, {
    ...parts,
    send,
    now: () => performance.now(),
    yieldToOthers: () => setImmediate(),
    onProbe: ({ name, asks }, index) => onProgress(`${index + 1}/${allProbes.length} ${name}: ${asks}`),
  });
  const isInTheClear = chatUrl.protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(chatUrl.hostname);
  // A profile made from half the evidence would look complete.
  const proposal = run.stopped === null && run.ranOut === null ? proposeProfile(run.findings, chatUrl, model) : null;
  return {
    url: hideQuery(chatUrl),
    model,
    limits,
    run,
    proposal,
    warnings: listWarnings(run.findings, key !== null && isInTheClear),
    verdict: run.noSuchModel
      ? { outcome: 'no_such_model', failing: [] }
      : judgeServer(run.findings, findCallForm(run.findings) !== null),
  };
}

/** Asks the user a question on the terminal. Without a terminal the answer is no. */
async function askUser(question: string, { stdin, stderr }: Terminal, signal: AbortSignal): Promise<boolean> {
  if (!stdin.isTTY || !stderr.isTTY) return false;
  const lines = createInterface({ input: stdin, output: stderr });
  // In raw mode the terminal sends Ctrl-C as a character, which only the line reader gets.
  lines.once('SIGINT', () => process.emit('SIGINT'));
  try {
    return /^y/i.test((await lines.question(`\n${question} [y/N] `, { signal })).trim());
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}

/** The URL without its query, because some servers take keys there. */
function hideQuery({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** Checks the path of `--save` before tokens are spent. No file is overwritten, and the folder must exist. */
function checkSavePath(path: string): void {
  if (existsSync(path)) throw new UsageError(`${path} already exists: --save only writes a new file.`);
  if (!existsSync(dirname(path))) throw new UsageError(`The folder of ${path} does not exist.`);
}

/** Removes the key from a text, because servers quote keys in their errors. */
function hideKey(text: string, key: string | null): string {
  return key === null ? text : text.replaceAll(key, '[key]');
}
