import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { chartGoldens, habits } from '../../scripts/generate/chart-goldens.ts';
import { staleFiles } from '../../scripts/generate/generate.ts';
import { manifests, renderChart, renderInstall } from '../../scripts/generate/kubernetes-render.ts';
import { customResourceDefinitions } from '../kubernetes/definitions.ts';
import { runTool, toolPath } from '../kubernetes/tools.ts';
import { accepted, argumentsOf, refusals } from './refusals.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/chart');
toolPath('helm'); // what renders below is the one that is pinned

test.each([manifests, chartGoldens])(
  '$name: the chart renders them as they are (else: npm run generate)',
  (generator) => {
    expect([...staleFiles(generator).keys()]).toEqual([]);
  },
);

test.each(habits().filter(({ refusal }) => refusal !== null))(
  '$name.yaml, written from habit, is refused in a sentence',
  ({ args, refusal }) => {
    expect(messageOf(() => renderChart(args))).toContain(refusal);
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
  const folders = ['envoy/service.yaml', 'envoy/gateway', 'envoy/istio', 'test/golden/chart'];
  const files = folders.map((file) => join(root, file));
  const validate = () =>
    runTool('kubectl-validate', [...files, misspelt, '--version', oldest, '--local-crds', definitions]);
  // All of them are tried, and each that is wrong is told with the reason: here the misspelt one alone.
  const told = messageOf(validate);
  expect(told).toMatch(/failopen/);
  expect(told.match(/OK/g)?.length, told).toBeGreaterThan(10);
  expect(told.match(/ERROR/g), told).toHaveLength(1);
});

test.each([
  ['none', /only pods of namespace llm may call the service/],
  ['envoy-gateway', /anyone who can reach the Gateway can use the model/],
  ['istio', /anyone who can reach the Gateway can use the model/],
])('with gateway.kind=%s and defaults it renders, and its notes warn of what has to be said', (kind, warning) => {
  const { documents, notes } = renderInstall(['--set', `gateway.kind=${kind}`]);
  expect(documents.map(({ text }) => text).join('')).toContain('kind: NetworkPolicy');
  expect(notes).toMatch(warning);
});

test.each([
  ['512Mi', 320, 9],
  ['1Gi', 700, 22],
  ['1536Mi', 1050, 33],
  ['2Gi', 1400, 45],
  ['3Gi', 2048, 64],
  // The same in other units.
  ['1048576Ki', 700, 22],
  ['1073741824', 700, 22],
  ['1.5Gi', 1050, 33],
  ['2G', 1303, 40],
  ['0.002T', 1303, 40],
])('with %s of memory the heap is %s MiB and the largest request %s', (memory, heap, request) => {
  const sizes = ['limits', 'requests'].flatMap((name) => ['--set', `resources.${name}.memory=${memory}`]);
  const text = JSON.stringify(renderChart(sizes));
  expect(text).toContain(`max-old-space-size=${heap}`);
  expect(text).toContain(`MAX_REQUEST_BYTES, value: \\"${request * 2 ** 20}\\"`);
});

test('helm lint --strict passes', () => {
  expect(runTool('helm', ['lint', '--strict', '--set', 'gateway.kind=istio', chart])).toContain('0 chart(s) failed');
});

test('a clone and the package of it render the same, and Helm has nothing else to say', () => {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-chart-'));
  try {
    runTool('helm', ['package', chart, '--destination', folder]);
    const [archive = ''] = readdirSync(folder);
    const values = ['gateway.kind=envoy-gateway', 'monitoring.prometheusRule.enabled=true'];
    const [ofClone, ofPackage] = [chart, join(folder, archive)].map((path) =>
      spawnSync(toolPath('helm'), ['template', 'one', path, '--set', values.join(',')], { encoding: 'utf8' }),
    );
    expect(ofClone).toMatchObject({ status: 0, stderr: '' });
    expect(ofPackage).toMatchObject({ status: 0, stderr: '', stdout: ofClone?.stdout });
  } finally {
    rmSync(folder, { recursive: true });
  }
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

test.each(accepted)('%s renders, as it is just within what is refused', (values) => {
  expect(messageOf(() => renderChart(argumentsOf(values)))).toBe('');
});

test.each([
  ['a release with a name of 53 letters', 'a'.repeat(53), 'llm', 'a'.repeat(50), `llm-${'a'.repeat(50)}`],
  ['one whose name is cut at a hyphen', `${'a'.repeat(49)}-b`, 'llm', 'a'.repeat(49), `llm-${'a'.repeat(49)}`],
  ['a long name with that of the chart in it', 'my-responses-extproc', 'llm', 'my-responses-extproc', undefined],
  ['a namespace of 63 letters', 'x', 'n'.repeat(63), 'x-responses-extproc', 'n'.repeat(63)],
])('%s has names that Kubernetes takes', (_what, release, namespace, name, gatewayClass = `llm-${name}`) => {
  const documents = renderChart(['--set', 'gateway.kind=envoy-gateway', '--namespace', namespace], release);
  const namesOf = (kind: string) =>
    documents.flatMap(({ text }) =>
      text.includes(`kind: ${kind}\n`) ? (/^ {2}name: (\S+)/m.exec(text)?.[1] ?? []) : [],
    );
  expect(namesOf('Deployment')).toEqual([name]);
  expect(namesOf('GatewayClass')).toEqual([gatewayClass]);
  const all = documents.map(({ text }) => /^ {2}name: (\S+)/m.exec(text)?.[1] ?? '');
  expect(all.filter((one) => !/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(one))).toEqual([]);
});

test('a release that lacks every value that is empty by default, as after helm upgrade --reuse-values, is the same', () => {
  const emptyIn = (values: object, path: string): string[] =>
    Object.entries(values).flatMap(([name, value]: [string, unknown]) => {
      if (value === '' || (value !== null && typeof value === 'object' && Object.keys(value).length === 0))
        return [`${path}${name}=null`];
      const isMap = value !== null && typeof value === 'object' && !Array.isArray(value);
      return isMap ? emptyIn(value, `${path}${name}.`) : [];
    });
  const empty = emptyIn(parse(readFileSync(join(chart, 'values.yaml'), 'utf8')), '');
  expect(empty.length).toBeGreaterThan(50);
  for (const kind of ['envoy-gateway', 'istio'])
    expect(renderChart(['--set', `gateway.kind=${kind},${empty.join(',')}`])).toEqual(
      renderChart(['--set', `gateway.kind=${kind}`]),
    );
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
