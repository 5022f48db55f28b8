import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { chartGoldens } from '../../scripts/chart-goldens.ts';
import { staleFiles } from '../../scripts/generate.ts';
import { manifests, renderChart } from '../../scripts/kubernetes-render.ts';
import { customResourceDefinitions } from '../kubernetes/definitions.ts';
import { runTool, toolPath } from '../kubernetes/tools.ts';
import { argumentsOf, refusals } from './refusals.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/chart');
toolPath('helm'); // what renders below is the one that is pinned

test.each([manifests, chartGoldens])(
  '$name: the chart renders them as they are (else: npm run generate)',
  (generator) => {
    expect([...staleFiles(generator).keys()]).toEqual([]);
  },
);

test('what it renders satisfies the schemas of Kubernetes, Gateway API, Envoy Gateway and Istio', () => {
  const definitions = join(root, '.cache/kubernetes/definitions');
  rmSync(definitions, { recursive: true, force: true });
  mkdirSync(definitions, { recursive: true });
  for (const definition of customResourceDefinitions())
    writeFileSync(join(definitions, `${definition.metadata.name}.yaml`), stringify(definition));
  const oldest = /^kubeVersion: ">=(1\.\d+)/m.exec(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))?.[1] ?? '';
  const gateway = readFileSync(join(root, 'envoy/gateway/gateway.yaml'), 'utf8');
  const misspelt = join(root, '.cache/kubernetes/misspelt.yaml');
  writeFileSync(misspelt, gateway.replace('failOpen:', 'failopen:'));
  const files = ['envoy/service.yaml', 'envoy/gateway', 'envoy/istio', 'test/golden/chart'].map((file) =>
    join(root, file),
  );
  const validate = () =>
    runTool('kubectl-validate', [...files, misspelt, '--version', oldest, '--local-crds', definitions]);
  // All of them are tried, and each that is wrong is told with the reason: here the misspelt one alone.
  const told = messageOf(validate);
  expect(told).toMatch(/failopen/);
  expect(told.match(/OK/g)?.length, told).toBeGreaterThan(10);
  expect(told.match(/ERROR/g), told).toHaveLength(1);
});

test('helm lint --strict passes', () => {
  expect(runTool('helm', ['lint', '--strict', '--set', 'gateway.kind=istio', chart])).toContain('0 chart(s) failed');
});

/** The message of the error that it throws; empty if it throws none. */
function messageOf(run: () => void): string {
  try {
    run();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const said = new Map(refusals.map(([values]) => [values, messageOf(() => renderChart(argumentsOf(values)))]));

test.each(refusals)('%s fails with a message that names the problem', (values, message) => {
  expect(said.get(values)).toMatch(message);
});

test.each(['heapMiB', 'gateway.messageTimeout', 'gateway.auth.apiKey.secretName'])(
  'a release that lacks the value %s, as after helm upgrade --reuse-values, has its default',
  (name) => {
    expect(renderChart(argumentsOf(`${name}=null`))).toEqual(renderChart(argumentsOf('')));
  },
);

test('every refusal of the templates has its case above', () => {
  const templates = readdirSync(join(chart, 'templates'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(yaml|tpl)$/.test(name))
    .map((name) => readFileSync(join(chart, 'templates', name), 'utf8'));
  const messages = templates.flatMap((text) =>
    [...text.matchAll(/\bfail \(?(?:printf )?"((?:\\.|[^"])*)"/g)].map(([, message = '']) => message),
  );
  expect(messages.length).toBeGreaterThan(40);
  const all = [...said.values()].join('\n');
  const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const shown = (format: string) =>
    new RegExp(
      format
        .split(/%[sdq]/)
        .map(literal)
        .join('.*'),
    );
  expect(messages.filter((message) => !shown(message.replaceAll('\\"', '"')).test(all))).toEqual([]);
});
