import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';

const room = fileURLToPath(new URL('../../../../src/tools/doctor/', import.meta.url));
const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

const impure = ['doctor-command.ts', 'send-probe.ts'];

it.each(files)('%s has a socket, a clock or a file only where the program begins or sends', (file) => {
  const text = readFileSync(`${room}${file}`, 'utf8');
  const builtIns = [...text.matchAll(/from '(node:[^']+)'/g)].map(([, name = '']) => name);
  const allowed = impure.includes(file) ? builtIns : ['node:buffer', 'node:util'];
  expect(builtIns.filter((name) => !allowed.includes(name))).toEqual([]);
  if (!impure.includes(file)) expect(text).not.toMatch(/Date\.now|performance\.now|setTimeout|Math\.random/);
});

it('probes have names of their own, and say what their results mean', () => {
  expect(new Set(allProbes.map(({ name }) => name)).size).toBe(allProbes.length);
  for (const { name, asks, means } of allProbes)
    for (const text of [
      asks,
      ...Object.values(means).map((said) => (typeof said === 'string' ? said : said(new Map()))),
    ])
      expect(text, name).toMatch(/^[^\n]{4,160}$/);
});
