import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startMonitoredMesh } from '../support/monitored-mesh.ts';
import { dashboard, expressions, monitoringFolder, rules } from '../support/monitoring.ts';

/** Metrics an expression names, with the labels and values it asks for by `=` or `=~`. */
function selectorsOf(expression: string): { name: string; labels: [string, string][] }[] {
  return [
    ...expression.matchAll(/\b((?:responses_extproc|gen_ai_server|envoy|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g),
  ].map(([, name = '', inner = '']) => ({
    name,
    labels: [...inner.matchAll(/(\w+)=~?"([^"]*)"/g)].flatMap(([, label = '', values = '']) =>
      label === 'job' ? [] : values.split('|').map((value): [string, string] => [label, value]),
    ),
  }));
}

/** Labels an expression groups by; Prometheus adds the first two itself, workers the third. */
function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    .filter((name) => !['job', 'instance', 'worker'].includes(name));
}

let scrape: string;

beforeAll(async () => {
  const mesh = await startMonitoredMesh();
  scrape = (await Promise.all([mesh.service(), mesh.workers(), mesh.envoy()])).join('\n');
  await mesh.close();
});

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

  it('describes every metric of the service in docs/watching.md, and no other', () => {
    const page = readFileSync(join(monitoringFolder, '../watching.md'), 'utf8');
    const described = [...page.matchAll(/^\| .*?`(responses_extproc_[a-z_]+)`/gm)].map(([, name]) => name);
    const served = [...scrape.matchAll(/^# TYPE (responses_extproc_[a-z_]+) /gm)].map(([, name]) => name);
    expect([...new Set(described)].sort()).toEqual([...new Set(served)].sort());
  });

  it('explains every alert in docs/watching.md', () => {
    const page = readFileSync(join(monitoringFolder, '../watching.md'), 'utf8');
    for (const { alert, annotations } of rules) {
      expect(page).toContain(`<a id="alert-${alert}"></a>\`${alert}\``);
      expect(annotations.runbook_url).toMatch(new RegExp(`/docs/watching\\.md#alert-${alert}$`));
    }
  });
});
