import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Subcommand } from '../program/command-line.ts';
import { callFormOf } from './chat-body.ts';
import { type DoctorOptions, helpText, readOptions, WrongUsage } from './options.ts';
import { allProbes } from './probes/all-probes.ts';
import { proposeProfile } from './proposal.ts';
import { announcement, jsonReport, type Report, textReport, verdictOf } from './report.ts';
import { runProbes, worstCase } from './run.ts';
import { createSend, type Send } from './send.ts';
import { warningsOf } from './warnings.ts';

const exitCodes = { usable: 0, unusable: 1, unclear: 3 } as const;
const WRONG_USAGE = 2;

/** `responses-extproc doctor`: probes a Chat server, and prints what works and the profile that fits. */
export const doctor: Subcommand = async (args, { env, stdout, stderr }) => {
  let options: DoctorOptions | null;
  try {
    options = readOptions(args, env);
    if (options?.save != null) checkSavePath(options.save);
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error;
    stderr.write(`${error.message} Run with --help to see the options.\n`);
    return WRONG_USAGE;
  }
  if (options === null) {
    stdout.write(helpText);
    return 0;
  }
  const { chatUrl, model, key, limits, json, save } = options;
  const spending = worstCase(allProbes, limits);
  // In JSON mode standard output is the report alone.
  (json ? stderr : stdout).write(announcement(shownUrl(chatUrl), model, spending, limits));
  const send = createSend({ chatUrl, key, timeoutMs: options.timeout * 1000 });
  const report = await diagnose(options, send, (line) => {
    if (stderr.isTTY) stderr.write(`\r\u001b[K${line}`);
  });
  if (stderr.isTTY) stderr.write('\r\u001b[K');
  const text = json
    ? jsonReport(report, allProbes)
    : textReport(report, allProbes, Math.min(stdout.columns ?? 120, 140), stdout.isTTY === true);
  stdout.write(withoutKey(text, key));
  if (save !== null && report.proposal !== null) {
    writeFileSync(save, report.proposal.file, { flag: 'wx' });
    stderr.write(`The profile is in ${save}.\n`);
  }
  return exitCodes[report.verdict.outcome];
};

/** Runs all probes and draws the conclusions. */
export async function diagnose(
  { chatUrl, model, key, limits }: Pick<DoctorOptions, 'chatUrl' | 'model' | 'key' | 'limits'>,
  send: Send,
  onProgress: (line: string) => void,
): Promise<Report> {
  const run = await runProbes(allProbes, { model, hasKey: key !== null }, limits, {
    send,
    now: () => performance.now(),
    onProbe: ({ name, asks }, index) => onProgress(`${index + 1}/${allProbes.length} ${name}: ${asks}`),
  });
  // Half the evidence would look like a whole profile.
  const proposal = run.stopped === null ? proposeProfile(run.findings, chatUrl, model) : null;
  return {
    url: shownUrl(chatUrl),
    model,
    limits,
    run,
    proposal,
    warnings: warningsOf(run.findings, key !== null && isInTheClear(chatUrl)),
    verdict: verdictOf(allProbes, run.findings, callFormOf(run.findings) !== null),
  };
}

/** Without the query: some servers take keys there. */
function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** Before anything is spent: a file that is there is somebody's, and a folder that is not there is a mistake. */
function checkSavePath(path: string): void {
  if (existsSync(path)) throw new WrongUsage(`${path} exists: --save writes a new file.`);
  if (!existsSync(dirname(path))) throw new WrongUsage(`The folder of ${path} does not exist.`);
}

function isInTheClear({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** Servers quote keys in their errors. */
function withoutKey(text: string, key: string | null): string {
  return key === null ? text : text.replaceAll(key, '[key]');
}
