import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ManifestFolder, manifestFolders } from '../../../scripts/generate/kubernetes-render.ts';
import { readConfig } from '../../../src/service/settings/config.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';
import { committedManifests, environmentOf, objectOf } from '../../kubernetes/manifests.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the chart’s values', () => {
  const schema = read('deploy/chart/values.schema.json');
  // Conditions (`if`) name fields whose types are said elsewhere.
  const validate = new Ajv({ strict: true, strictRequired: false, strictTypes: false, allowUnionTypes: true }).compile(
    JSON.parse(schema),
  );
  const defaults = parse(read('deploy/chart/values.yaml')) as object;

  test('the defaults satisfy the schema, and the schema knows every one of them', () => {
    validate(defaults);
    expect(validate.errors).toBeNull();
    // Names that people write from habit are there only to say the chart's own.
    const properties = Object.entries<{ const?: string }>(JSON.parse(schema).properties);
    const [known, habits] = [properties.filter(([, one]) => !one.const), properties.filter(([, one]) => one.const)];
    expect(known.map(([name]) => name).sort()).toEqual(Object.keys(defaults).sort());
    for (const [name, { const: hint = '' }] of habits) {
      expect(hint, name).toMatch(/^(under the name |left out: )/);
      const [, named] = /^under the name (\w+)/.exec(hint) ?? [];
      if (named !== undefined) expect(defaults, name).toHaveProperty(named);
    }
  });

  test('the README says of every value, in a sentence that stands alone, who sets it and why', () => {
    const rows = [...read('deploy/chart/README.md').matchAll(/^\| `([\w.]+)` \| (.*) \| (.*) \|$/gm)];
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(([, , , meaning = '']) => !/^[A-Z].*\.$/.test(meaning)).map(([row]) => row)).toEqual([]);
  });

  test.each([
    ['a variable that is not there', { config: { UPSTREAM_PROFIL: 'vllm' } }],
    ['a word that a variable does not take', { config: { OMITTED_STORE: 'maybe' } }],
    ['on and off without quotes, which are true and false', { config: { INSPECT: true } }],
    ['a number out of its range', { config: { MAX_TOOLS: 100_001 } }],
    ['a size with a unit', { config: { MAX_TEXT_BYTES: '10M' } }],
    ['a file that is named from nowhere', { config: { COMPACTION_PROMPT_FILE: 'prompt.txt' } }],
    ['a collector without http://', { config: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' } }],
    ['a flag that no profile has', { profiles: { mine: { extends: 'vllm', toolz: true } } }],
    ['a profile that extends nothing there is', { profiles: { mine: { extends: 'skynet' } } }],
    ['a variable that the chart derives', { config: { LISTEN: '0.0.0.0:1' } }],
    ['a value that is not there', { replica: 3 }],
    ['another kind of gateway', { gateway: { kind: 'nginx' } }],
    ['a duration without a unit', { gateway: { messageTimeout: 10 } }],
    ['no body at all', { maxRequestMiB: 0 }],
  ])('%s is refused', (_what, values) => {
    expect(validate(values)).toBe(false);
  });

  test('every setting and profile of the examples is accepted, numbers and booleans without quotes too', () => {
    const config = { STRICT_ECHO: true, MAX_TOOLS: 7, MAX_INPUT_ITEMS: '64', INSPECT: 'on', DEFAULT_MODEL: 'qwen3' };
    const profiles = { mine: { extends: 'vllm', models: { '/qwen3/i': { video: true } } } };
    expect(validate({ config: { ...config, SESSION_HEADER: 'x-session' }, profiles })).toBe(true);
  });

  test('every default of the service is accepted where it is written out', () => {
    const allowed = Object.keys(JSON.parse(schema).properties.config.properties);
    const written = settingsIn(settings).filter(({ variable }) => allowed.includes(variable));
    expect(written.length).toBeGreaterThan(40);
    for (const { variable, fallback } of written)
      expect(validate({ config: { [variable]: fallback } }), variable).toBe(true);
  });

  test('its patterns are those of RE2, which Helm reads them by', () => {
    expect(schema).toContain('"pattern"');
    expect(schema).not.toMatch(/"pattern": "[^"\n]*\(\?[=!<]/);
  });
});

test('the chart has the service’s version', () => {
  const { version } = JSON.parse(read('package.json'));
  expect(parse(read('deploy/chart/Chart.yaml'))).toMatchObject({ version, appVersion: version });
});

describe.each(Object.keys(manifestFolders) as ManifestFolder[])('the manifests of %s', (folder) => {
  const objects = committedManifests(folder);
  const pod = objectOf(objects, 'Deployment').spec.template.spec;
  const [container] = pod.containers;

  test('they are whole', () => {
    const kinds = new Set(objects.map(({ kind }) => kind));
    for (const kind of ['Service', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'NetworkPolicy', 'Gateway'])
      expect(kinds).toContain(kind);
    // Envoy Gateway ends a loop by a route of its own, Istio by a patch.
    const ofLoop = folder === 'envoy/gateway' ? 1 : 0;
    expect(objects.filter(({ kind }) => kind === 'HTTPRoute')).toHaveLength(2 + ofLoop);
  });

  test('the service takes the environment they give it', () => {
    const { NODE_OPTIONS, ...environment } = environmentOf(objectOf(objects, 'Deployment'));
    expect(NODE_OPTIONS).toMatch(/^--max-old-space-size=\d+$/);
    const known = readConfig(environment);
    for (const name of Object.keys(environment)) expect(known).toHaveProperty(name);
  });

  test('a pod may take as long to end as the service may', () => {
    const config = readConfig(environmentOf(objectOf(objects, 'Deployment')));
    const asked = container.lifecycle.preStop.sleep.seconds + (config.DRAIN_DELAY_MS + config.DRAIN_TIMEOUT_MS) / 1000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(asked);
  });

  test('the pod has no rights: not root, nothing written, no capabilities, no token', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('the ports are those that the service listens on, and h2c is said of gRPC', () => {
    const config = readConfig(environmentOf(objectOf(objects, 'Deployment')));
    const [grpc, admin] = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort);
    expect(config.LISTEN).toBe(`0.0.0.0:${grpc}`);
    expect(config.ADMIN_LISTEN).toBe(`0.0.0.0:${admin}`);
    const { ports } = objectOf(objects, 'Service').spec;
    expect(ports[0]).toMatchObject({ port: grpc, appProtocol: 'kubernetes.io/h2c' });
  });
});
