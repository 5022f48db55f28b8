import { indentOf, rowLines, section } from '../cli/columns.ts';
import { type Colour, type Style, wrap } from '../cli/style.ts';
import type { Finding, Findings, Probe, Result } from './probe-types.ts';
import type { Proposal } from './proposal.ts';
import { type Limits, notReached, type Run, type Spending } from './run-probes.ts';

/** All that a run found out. */
export interface Report {
  readonly url: string;
  readonly model: string;
  readonly limits: Limits;
  readonly run: Run;
  readonly proposal: Proposal | null;
  readonly warnings: readonly string[];
  readonly verdict: Verdict;
}

/** Whether an agent can work with the server, and which probes failed. */
export interface Verdict {
  readonly outcome: 'usable' | 'unusable' | 'unclear';
  readonly failing: readonly string[];
}

const words: Readonly<Record<Result, string>> = {
  works: 'works',
  accepted: 'accepted',
  ignored: 'IGNORED',
  refused: 'REFUSED',
  broken: 'BROKEN',
  not_tested: 'not tested',
};

const colours: Readonly<Record<Result, Colour>> = {
  works: 'green',
  accepted: 'green',
  ignored: 'yellow',
  refused: 'yellow',
  broken: 'red',
  not_tested: 'dim',
};

/** Only the essential probes count. Untested ones leave it open. */
export function verdictOf(probes: readonly Probe[], findings: Findings, turnTaken: boolean): Verdict {
  const essential = probes.filter((probe) => probe.essential);
  const failing = essential.filter(({ name }) => isFailure(findings.get(name))).map(({ name }) => name);
  const triedTurn = isFailure(findings.get('tool_result')) && !turnTaken;
  const all = [...failing, ...(triedTurn ? ['tool_result'] : [])];
  if (all.length > 0) return { outcome: 'unusable', failing: all };
  const open = essential.filter(({ name }) => findings.get(name)?.result === 'not_tested').map(({ name }) => name);
  return { outcome: open.length > 0 || !turnTaken ? 'unclear' : 'usable', failing: open };
}

function isFailure(finding: Finding | undefined): boolean {
  return finding?.result === 'refused' || finding?.result === 'ignored' || finding?.result === 'broken';
}

/** What is printed before the first request. */
export function announcement(url: string, model: string, spending: Spending, limits: Limits): string {
  const { requests, inputTokens, outputTokens } = spending;
  return `Probing ${url} with the model ${model}.
At most ${requests} requests, ${outputTokens} output tokens and about ${inputTokens} input tokens, in at most ${limits.seconds} s. Usually it is far less.
`;
}

/** The report as text: a table by groups, the profile, the warnings. */
export function textReport(report: Report, probes: readonly Probe[], style: Style): string {
  const { run, proposal, warnings } = report;
  const width = Math.min(style.width, 140);
  const listed = probes.flatMap((probe) => {
    const finding = run.findings.get(probe.name);
    if (finding === undefined) return [];
    // Variants that were not needed, and probes after the end, are not listed.
    const isLeftOut = finding.result === 'not_tested' && (isVariant(probe) || finding.detail === notReached);
    return isLeftOut ? [] : [{ probe, finding }];
  });
  const nameWidth = Math.max(leastNameWidth, ...listed.map(({ probe }) => probe.name.length));
  const titles = [
    { text: '  probe', width: nameWidth + 2 },
    { text: 'result', width: resultWidth },
  ];
  const lines = ['', ...rowLines(titles, ['what was seen, and what it means'], style)];
  for (const group of new Set(listed.map(({ probe }) => probe.group))) {
    const rows = listed.filter(({ probe }) => probe.group === group);
    const shown = rows.flatMap(({ probe, finding }) => rowOf(probe, finding, nameWidth, width - 2, style));
    lines.push(...section(group, shown, style));
  }
  lines.push('');
  if (run.stopped !== null) lines.push(...wrap(`STOPPED: ${run.stopped}`, width), '');
  else if (run.ranOut !== null)
    lines.push(
      ...wrap(`No profile is proposed, since not every question was asked: ${run.ranOut}. Raise it.`, width),
      '',
    );
  if (proposal !== null) lines.push(...profileLines(proposal, width, style));
  if (warnings.length > 0) {
    lines.push(style.paint('bold', 'For Codex and other agents'));
    for (const warning of warnings) lines.push(...wrap(`- ${warning}`, width, '  '));
    lines.push('');
  }
  lines.push(...wrap(verdictText(report.verdict), width));
  const { requests, inputTokens, outputTokens } = run.spent;
  lines.push(`Spent: ${requests} requests, ${outputTokens} output tokens, ${inputTokens} input tokens.`, '');
  return lines.join('\n');
}

/** The report for programs. */
export function jsonReport(
  { url, model, limits, run, proposal, warnings, verdict }: Report,
  probes: readonly Probe[],
): string {
  const findings = probes.flatMap((probe) => {
    const finding = run.findings.get(probe.name);
    if (finding === undefined) return [];
    const { result, detail } = finding;
    return [
      { probe: probe.name, group: probe.group, asks: probe.asks, result, detail, means: probe.means[result] ?? null },
    ];
  });
  const profile =
    proposal === null
      ? null
      : {
          name: proposal.name,
          extends: proposal.base,
          because: proposal.because,
          flags: proposal.differences.map(({ flag, value, from }) => ({ flag, value: plain(value), from })),
          file: proposal.file,
        };
  const whole = {
    url,
    model,
    limits,
    verdict,
    stopped: run.stopped,
    ranOut: run.ranOut,
    findings,
    profile,
    warnings,
    spent: run.spent,
  };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

function isVariant({ name }: Probe): boolean {
  return (
    name.startsWith('tool_result_') ||
    name === 'tool_any' ||
    name === 'tools_no_effort' ||
    name === 'json_object' ||
    name === 'window' ||
    name.endsWith('_short') ||
    name.startsWith('reasoning_')
  );
}

/** Columns: the probe with what it asks, the result, what was seen and what it means. */
function rowOf(probe: Probe, { result, detail }: Finding, nameWidth: number, width: number, style: Style): string[] {
  const meaning = probe.means[result];
  const told = meaning === undefined ? detail : `${detail}. ${meaning}`;
  const cells = [
    { text: probe.name, width: nameWidth },
    { text: words[result], width: resultWidth, colour: colours[result] },
  ];
  return rowLines(cells, wrap(told, Math.max(width - indentOf([nameWidth, resultWidth]), 30)), style);
}

/** So that the tables of most runs look alike. */
const leastNameWidth = 21;
const resultWidth = 10;

function profileLines(proposal: Proposal, width: number, style: Style): string[] {
  const { base, because, differences, name, file } = proposal;
  const lines = [style.paint('bold', 'Profile'), ...wrap(`The profile that fits best is ${base} (${because}).`, width)];
  if (differences.length === 0) return [...lines, `No flag differs: UPSTREAM_PROFILE=${name}`, ''];
  const what = differences.length === 1 ? 'One flag differs' : `${differences.length} flags differ`;
  lines.push(`${what}. As a file for UPSTREAM_PROFILES_FILE, with UPSTREAM_PROFILE=${name}:`, '');
  lines.push(
    ...file
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
    '',
  );
  return lines;
}

function verdictText({ outcome, failing }: Verdict): string {
  switch (outcome) {
    case 'usable':
      return 'Verdict: agents can work with this server.';
    case 'unusable':
      return `Verdict: agents cannot work with this server as it is: ${failing.join(', ')}.`;
    case 'unclear':
      return `Verdict: open${failing.length === 0 ? '' : `, since ${failing.join(', ')} could not be tested`}.`;
  }
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, part) => (part instanceof RegExp ? String(part) : part)));
}
