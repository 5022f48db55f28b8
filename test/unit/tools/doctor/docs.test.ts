import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { profileFlags } from '../../../../src/filter/upstream/profile.ts';
import { createPlainStyle } from '../../../../src/tools/cli/terminal.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { writeTextReport } from '../../../../src/tools/doctor/report.ts';
import { replayDoctor } from '../../../support/doctor-recordings.ts';

const page = readFileSync(new URL('../../../../docs/doctor.md', import.meta.url), 'utf8');

/** After a change of the report: put the received text into the page, with a line “…” for what is left out. */
it('the report of docs/doctor.md is what the recorded server gives, but for the rows that it leaves out', async () => {
  const shown = /<!-- report: .*?-->\n\n```\n(.*?)```\n/s.exec(page)?.[1] ?? '';
  const report = writeTextReport(await replayDoctor('llama.cpp'), createPlainStyle(120)).replace(/^\n/, '');
  const parts = shown.split(/^…\n/m);
  expect(parts.length).toBeGreaterThan(2);
  let rest = report;
  for (const part of parts) {
    expect(rest).toContain(part);
    rest = rest.slice(rest.indexOf(part) + part.length);
  }
  expect(report.startsWith(parts[0] ?? '')).toBe(true);
  expect(rest).toBe('');
});

it('the results stand below one another, also beside the longest name of a probe', async () => {
  const report = await replayDoctor('llama.cpp');
  const name = 'max_completion_tokens_short';
  const findings = new Map([...report.run.findings, [name, { result: 'works', detail: 'seen' } as const]]);
  const text = writeTextReport({ ...report, run: { ...report.run, findings } }, createPlainStyle(120));
  expect(text).toContain(`  ${name}  works `);
  const rows = text.split('\n').filter((line) => /^ {2}\w+ +(works|accepted|IGNORED|REFUSED|not tested) /.test(line));
  expect(rows.length).toBeGreaterThan(40);
  const ends = rows.map((row) => /^ {2}\w+ +/.exec(row)?.[0].length);
  expect(new Set(ends)).toEqual(new Set([2 + name.length + 2]));
});

it('docs/doctor.md has every probe, and no flag that there is not', () => {
  const table = page.slice(page.indexOf('## Probes'));
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([\w]+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual(allProbes.map(({ name }) => name).toSorted());
  const flags = rows.flatMap((row) => [...(row.split('|')[3] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  expect(flags.length).toBeGreaterThan(20);
  for (const flag of flags) expect(Object.keys(profileFlags)).toContain(flag);
});
