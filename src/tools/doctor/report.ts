import { jsonWithPatterns } from '../../formats/json/loose.ts';
import {
  type Colour,
  computeIndent,
  joinSections,
  type Style,
  wrapText,
  writeSection,
  writeTableRow,
} from '../cli/terminal.ts';
import { explainResult, type Findings, hasResult, joinSentences, lacking, type Result } from './findings.ts';
import { allProbes } from './probes/all-probes.ts';
import type { Proposal } from './proposal.ts';
import { type Limits, notReached, type Run, type Spending } from './run-probes.ts';

export interface Report {
  readonly url: string;
  readonly model: string;
  readonly limits: Limits;
  readonly run: Run;
  readonly proposal: Proposal | null;
  readonly warnings: readonly string[];
  readonly verdict: Verdict;
}

/** Whether an agent can work with the server. `failing` names the probes that decided it. */
export interface Verdict {
  readonly outcome: 'usable' | 'unusable' | 'unclear' | 'no_such_model';
  readonly failing: readonly string[];
}

const shown: Readonly<Record<Result, { readonly text: string; readonly colour: Colour }>> = {
  works: { text: 'works', colour: 'green' },
  accepted: { text: 'accepted', colour: 'green' },
  ignored: { text: 'IGNORED', colour: 'yellow' },
  refused: { text: 'REFUSED', colour: 'yellow' },
  broken: { text: 'BROKEN', colour: 'red' },
  not_tested: { text: 'not tested', colour: 'dim' },
};

/** Decides from the essential probes whether the server is usable. An untested one leaves the verdict open. */
export function judgeServer(findings: Findings, turnTaken: boolean): Verdict {
  const essential = allProbes.filter((probe) => probe.essential).map(({ name }) => name);
  const needed = turnTaken ? essential : [...essential, 'tool_result'];
  const failing = needed.filter((name) => hasResult(findings, name, ...lacking));
  if (failing.length > 0) return { outcome: 'unusable', failing };
  const open = essential.filter((name) => hasResult(findings, name, 'not_tested'));
  return { outcome: open.length > 0 || !turnTaken ? 'unclear' : 'usable', failing: open };
}

export function writeAnnouncement(url: string, model: string, spending: Spending, limits: Limits): string {
  const { requests, inputTokens, outputTokens } = spending;
  return `Probing ${url} with the model ${model}.
At most ${requests} requests, ${outputTokens} output tokens and about ${inputTokens} input tokens, in at most ${limits.seconds} s. Usually it is far less.
`;
}

export function writeTextReport(report: Report, style: Style): string {
  const { run, proposal, warnings } = report;
  const width = Math.min(style.width, 140);
  const listed = allProbes.flatMap((probe) => {
    const finding = run.findings.get(probe.name);
    if (finding === undefined) return [];
    // Variants that were not needed, and probes that were not reached, are not listed.
    const isLeftOut = finding.result === 'not_tested' && (variants.test(probe.name) || finding.detail === notReached);
    return isLeftOut ? [] : [{ probe, finding }];
  });
  const nameWidth = Math.max(leastNameWidth, ...listed.map(({ probe }) => probe.name.length));
  const titles = [
    { text: '  probe', width: nameWidth + 2 },
    { text: 'result', width: resultWidth },
  ];
  const meaningWidth = Math.max(width - 2 - computeIndent([nameWidth, resultWidth]), 30);
  const groups = [...Map.groupBy(listed, ({ probe }) => probe.group)].flatMap(([group, rows]) => {
    const lines = rows.flatMap(({ probe, finding: { result, detail } }) => {
      const meaning = explainResult(probe, result, run.findings);
      const told = meaning === undefined ? detail : joinSentences(detail, meaning);
      const name = { text: probe.name, width: nameWidth };
      return writeTableRow([name, { ...shown[result], width: resultWidth }], wrapText(told, meaningWidth), style);
    });
    return writeSection(group, lines, style);
  });
  const agents = warnings.flatMap((warning) => wrapText(`- ${warning}`, width, '  '));
  const { requests, inputTokens, outputTokens } = run.spent;
  const text = joinSections([
    [...writeTableRow(titles, ['what was seen, and what it means'], style), ...groups],
    wrapText(describeEnd(run), width).filter((line) => line !== ''),
    proposal === null ? [] : writeProfile(proposal, width, style),
    agents.length === 0 ? [] : [style.paint('bold', 'For Codex and other agents'), ...agents],
    [
      ...wrapText(writeVerdict(report.verdict), width),
      `Spent: ${requests} requests, ${outputTokens} output tokens, ${inputTokens} input tokens.`,
    ],
  ]);
  return `\n${text}`;
}

function describeEnd({ stopped, ranOut }: Run): string {
  if (stopped !== null) return `STOPPED: ${stopped}`;
  if (ranOut !== null) return `No profile is proposed, because the run stopped early: ${ranOut}. Raise that limit.`;
  return '';
}

export function writeJsonReport({ url, model, limits, run, proposal, warnings, verdict }: Report): string {
  const { stopped, ranOut, spent } = run;
  const findings = allProbes.flatMap((probe) => {
    const { name, group, asks } = probe;
    const finding = run.findings.get(name);
    if (finding === undefined) return [];
    const { result, detail } = finding;
    return [{ probe: name, group, asks, result, detail, means: explainResult(probe, result, run.findings) ?? null }];
  });
  const { name, base, because, differences: flags, file } = proposal ?? {};
  const profile = proposal && { name, extends: base, because, flags, file };
  const whole = { url, model, limits, verdict, stopped, ranOut, findings, profile, warnings, spent };
  return `${jsonWithPatterns(whole, 2)}\n`;
}

const variants = /^(?:tool_any|tools_no_effort|json_object|window|tool_result_.*|reasoning_.*|.*_short)$/;

const leastNameWidth = 21;
const resultWidth = 10;

function writeProfile(proposal: Proposal, width: number, style: Style): string[] {
  const { base, because, differences, name, file } = proposal;
  const best = wrapText(`The profile that fits best is ${base} (${because}).`, width);
  const lines = [style.paint('bold', 'Profile'), ...best];
  if (differences.length === 0) return [...lines, `No flag differs: UPSTREAM_PROFILE=${name}`];
  const what = differences.length === 1 ? 'One flag differs' : `${differences.length} flags differ`;
  const how = `${what}. As a file for UPSTREAM_PROFILES_FILE, with UPSTREAM_PROFILE=${name}:`;
  return [...lines, how, '', file.trimEnd().replaceAll(/^/gm, '  ')];
}

function writeVerdict({ outcome, failing }: Verdict): string {
  switch (outcome) {
    case 'usable':
      return 'Verdict: agents can work with this server.';
    case 'unusable':
      return `Verdict: agents cannot work with this server as it is: ${failing.join(', ')}.`;
    case 'no_such_model':
      return 'Verdict: none, because the server has no model of that name.';
    case 'unclear':
      return `Verdict: unknown${failing.length === 0 ? '' : `, because ${failing.join(', ')} could not be tested`}.`;
  }
}
