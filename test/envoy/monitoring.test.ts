import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createAuthority } from '../support/certificates.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';

const folder = join(import.meta.dirname, '../../docs/monitoring');

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const dashboard = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')) as Dashboard;
const { groups } = parse(readFileSync(join(folder, 'alerts.yaml'), 'utf8')) as Rules;
const expressions: readonly (readonly [string, string])[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
];

/** Metrics an expression names, with the labels and values it asks for by `=` or `=~`. */
function selectorsOf(expression: string): { name: string; labels: [string, string][] }[] {
  return [...expression.matchAll(/\b((?:responses_extproc|envoy|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      labels: [...inner.matchAll(/(\w+)=~?"([^"]*)"/g)].flatMap(([, label = '', values = '']) =>
        label === 'job' ? [] : values.split('|').map((value): [string, string] => [label, value]),
      ),
    }),
  );
}

/** Labels an expression groups by; Prometheus adds the first two itself, workers the third. */
function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    .filter((name) => !['job', 'instance', 'worker'].includes(name));
}

let scrape: string;
let mesh: TestMesh;

beforeAll(async () => {
  mesh = await startTestMesh();
  mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
  mesh.upstream.script('sse', {
    headers: eventStream,
    body: [delta({ content: 'Hi' }), finish('stop'), usage(3, 2), done],
  });
  mesh.upstream.script('broken', { status: 500, body: ['{"error":{"message":"no"}}'] });
  await (await mesh.post({ model: 'json', input: 'Hi' })).text();
  await (await mesh.post({ model: 'sse', input: 'Hi', stream: true })).text();
  await (await mesh.post({ model: 'broken', input: 'Hi' })).text();
  await (await mesh.post({ model: 'json', input: 'Hi', store: true })).text();
  await mesh.service.logged((line) => line['outcome'] === 'upstream_error');
  await mesh.service.logged((line) => line['outcome'] === 'refused');

  const authority = createAuthority('monitoring');
  const { certFile, keyFile } = authority.issue('service');
  const workers = await startServiceProcess({ WORKERS: '2', TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
  scrape = [
    await mesh.service.admin('/metrics'),
    await (await workers.get('/metrics')).text(),
    await mesh.admin('/stats/prometheus'),
  ].join('\n');
  await workers.remove();
  authority.remove();
});
afterAll(() => mesh.close());

describe('docs/monitoring', () => {
  it('has expressions to check', () => {
    expect(dashboard.panels.length).toBeGreaterThan(20);
    expect(expressions.length).toBeGreaterThan(40);
    for (const [title, expression] of expressions) expect(selectorsOf(expression), title).not.toEqual([]);
  });

  it.each(expressions)('%s asks for series that a scrape has: %s', (_, expression) => {
    for (const { name, labels } of selectorsOf(expression)) {
      const series = scrape.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      expect(series, name).not.toEqual([]);
      for (const [label, value] of labels)
        expect(
          series.some((line) => line.includes(`${label}="${value}"`)),
          `${name} with ${label}="${value}"`,
        ).toBe(true);
    }
    const [first] = selectorsOf(expression);
    for (const label of groupingsOf(expression))
      expect(scrape, `${first?.name} has the label ${label}`).toMatch(
        new RegExp(`^${first?.name}\\{[^}]*${label}="`, 'm'),
      );
  });

  it('describes every metric of the service in docs/operating.md, and no other', () => {
    const operating = readFileSync(join(folder, '../operating.md'), 'utf8');
    const described = [...operating.matchAll(/^\| `(responses_extproc_[a-z_]+)`/gm)].map(([, name]) => name);
    const served = [...scrape.matchAll(/^# TYPE (responses_extproc_[a-z_]+) /gm)].map(([, name]) => name);
    expect([...new Set(described)].sort()).toEqual([...new Set(served)].sort());
  });

  it('explains every alert in docs/operating.md', () => {
    const operating = readFileSync(join(folder, '../operating.md'), 'utf8');
    for (const { rules } of groups) for (const { alert } of rules) expect(operating).toContain(`\`${alert}\``);
  });
});
