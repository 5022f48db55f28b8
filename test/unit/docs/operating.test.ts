import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readResults } from '../../../bench/results.ts';
import { asTheImage } from '../../../mesh/processes.ts';
import { everyAttack } from '../../sizing/every-attack.ts';
import { imageFlags } from '../../support/image-flags.ts';

const root = join(import.meta.dirname, '../../..');

describe('docs/operating.md', () => {
  const text = readFileSync(join(root, 'docs/operating.md'), 'utf8');

  it('has the sizes that the chart names, of which one is its default', () => {
    const ofTable = /\| (\d+) (M|G)iB \| `--max-old-space-size=(\d+)` \| (\d+)/g;
    const sizes = [...text.matchAll(ofTable)].map(([, ...size]) => size.join(' '));
    const chart = readFileSync(join(root, 'deploy/chart/values.yaml'), 'utf8');
    const ofComment = /(\d+)(M|G)i: (?:heapMiB )?(\d+), (?:maxRequestMiB )?(\d+)/g;
    expect([...chart.matchAll(ofComment)].map(([, ...size]) => size.join(' '))).toEqual(sizes);
    const memory = parse(chart).resources.limits.memory.replace(/^(\d+)(.)i$/, '$1 $2');
    const rendered = readFileSync(join(root, 'envoy/service.yaml'), 'utf8');
    const [, heap] = /max-old-space-size=(\d+)/.exec(rendered) ?? [];
    const [, request] = /MAX_REQUEST_BYTES, value: "(\d+)"/.exec(rendered) ?? [];
    expect(sizes).toContain(`${memory} ${heap} ${Number(request) / 2 ** 20}`);
  });

  it('says when the attacks of today last ran, each survived in each of today’s sizes', () => {
    const sizes = [...text.matchAll(/^\| (\d+) (M|G)iB \| `--max-old-space-size=(\d+)/gm)].map(
      ([, size, unit, heap]) => [Number(size) * (unit === 'G' ? 1024 : 1), Number(heap)],
    );
    const wanted = sizes.flatMap((size) => everyAttack.map(([attack]) => [...size, attack, 'lives']));
    const { date, rows } = readResults().attacks ?? {};
    const last = `last run on ${date}; once an attack or a size has changed: RECORD=on npm test -- sizing`;
    expect(
      rows?.map((row) => row.slice(0, 4)),
      last,
    ).toEqual(wanted);
    expect(text).toContain(`\nRun on ${date} (`);
  });

  it('names the flags of Node that image, mesh and bench start the service with', () => {
    const flags = /starts Node with `([^`]+)`/.exec(text)?.[1]?.split(' ');
    expect(flags).toEqual(imageFlags);
    expect(flags).toEqual(asTheImage);
    // Node says what it was started with instead of starting the service.
    const environment = { ...process.env, EXTPROC_PORT: '1', NODE_ARGS: '-p JSON.stringify(process.execArgv)' };
    const { stdout } = spawnSync(join(root, 'bench/contender.sh'), { encoding: 'utf8', env: environment });
    expect(JSON.parse(stdout).slice(0, -2)).toEqual(flags);
  });
});
