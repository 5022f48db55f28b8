import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findEnvoy } from '../../mesh/envoy-binary.ts';
import { readProfilesFile } from '../../src/filter/upstream/profiles-file.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { createAuthority } from '../support/certificates.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { complete, type Values } from './complete-values.ts';
import { createDefinitions } from './definitions.ts';
import { translateForEnvoyGateway } from './envoy-gateway.ts';
import { chatService, type GatewayConfiguration, ofEnvoyGateway, ofIstio } from './gateways.ts';
import { translateForIstio } from './istio.ts';
import { environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { validateBootstrap } from './static-envoy.ts';
import { runTool } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/chart');
const defaults: Values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));

type Path = readonly (string | number)[];
interface Wrong {
  readonly path: Path;
  readonly value: unknown;
}
interface Rendered {
  readonly objects: readonly KubernetesObject[];
  /** What Helm says, empty if it renders. */
  readonly error: string;
}

/** The Secrets that the upstream of `complete` names. */
const authority = createAuthority('authority');
const secrets: readonly KubernetesObject[] = [
  ['hosted', 'credential', 'key'] as const,
  ['ca', 'ca.crt', readFileSync(authority.caFile, 'utf8')] as const,
].map(([name, key, value]) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: { [key]: btoa(value) } }));
authority.remove();

describe.each(Object.entries(complete))('with gateway.kind=%s, each value made wrong in many ways', (kind, values) => {
  const base: Values = JSON.parse(JSON.stringify(merged(defaults, values))); // nothing is in two places at once
  const validate: ValidateFunction = new Ajv({ strict: false }).compile(schema);
  // What is not about the gateway is the same for both.
  const places = placesIn(base).filter(([first]) => kind === 'envoy-gateway' || first === 'gateway');
  const all = places.flatMap((path) => wrongFor(base, path).map((value): Wrong => ({ path, value })));
  const allowed = (wrong: Wrong) => validate(replaced(base, [wrong]));
  const refused = all.filter((wrong) => !allowed(wrong));
  const passed = all.filter(allowed);
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer();
    await createDefinitions(server);
    expect(await server.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'llm' } })).toBeNull();
  });
  afterAll(() => server?.close());

  test('nothing is wrong before', async () => {
    const [{ objects, error } = { objects: [], error: 'nothing' }] = renderAll([base]);
    expect(error).toBe('');
    expect(await refusals(server, objects)).toEqual([]);
    expect(serviceRefuses(objects)).toBe('');
  });

  test.each(['helm', 'helm3'] as const)('%s refuses what the schema refuses, at its path', (helm) => {
    const silent: string[] = [];
    for (const round of roundsOf(refused)) {
      const error = errorOf(helm, replaced(base, round));
      for (const { path, value } of round)
        if (!namesPlace(error, path)) silent.push(`${path.join('.')}: ${JSON.stringify(value)}`);
    }
    expect(silent).toEqual([]);
  });

  test('any other is refused in a sentence, or the API server and the service accept all of it', async () => {
    const known = new Map<KubernetesObject, Promise<string[]>>();
    const [unchanged] = renderAll([base]);
    for (const object of unchanged?.objects ?? []) known.set(object, Promise.resolve([]));
    const bad: string[] = [];
    const accepted: Wrong[] = [];
    let sentences = 0;
    const results = renderAll(passed.map((wrong) => replaced(base, [wrong])));
    for (const [index, { objects, error }] of results.entries()) {
      const wrong = passed[index] as Wrong;
      const what = `${wrong.path.join('.')}: ${JSON.stringify(wrong.value)}`;
      if (error !== '') {
        sentences += 1;
        if (!/validate\.yaml:\d+:\d+\): [a-zA-Z.]+[:.]/.test(error) && !/ is not a quantity of memory/.test(error))
          bad.push(`${what}: ${error}`);
        continue;
      }
      accepted.push(wrong);
      for (const object of objects) {
        if (!known.has(object)) known.set(object, refusals(server, [object]));
        for (const refusal of (await known.get(object)) ?? []) bad.push(`${what}: ${refusal}`);
      }
      const message = serviceRefuses(objects);
      if (message !== '') bad.push(`${what}: the service: ${message}`);
    }
    console.log(
      `${kind}: ${all.length} values tried at ${places.length} places, ${refused.length} refused by the schema, ${sentences} in a sentence, ${passed.length - sentences} accepted`,
    );
    expect(bad.sort()).toEqual([]);
    expect(sentences).toBeGreaterThan(0);
    // Names and ports would have to be those of other objects too.
    const plain = merged(base, {
      tls: { secretName: '', hostname: '', caConfigMap: '', clientCaSecret: '', clientCertificate: '' },
      gateway: { tlsSecretName: '' },
    });
    const ofGateway = accepted.filter(
      ({ path }) =>
        path[0] === 'gateway' &&
        !path.includes(1) && // two entries must differ
        !/name|port|auth|image|labels|monitoring|secret/i.test(path.filter((one) => one !== 'hostnames').join('.')),
    );
    expect(ofGateway).not.toEqual([]);
    // What is right by itself may contradict another value of its round: a maximum, say, the minimum.
    const together = (round: readonly Wrong[]): (readonly Wrong[])[] => {
      const [rendered] = renderAll([replaced(plain, round)]);
      if (round.length === 1 || rendered?.error === '') return [round];
      const middle = Math.floor(round.length / 2);
      return [round.slice(0, middle), round.slice(middle)].flatMap(together);
    };
    const rounds = roundsOf(ofGateway).flatMap(together);
    for (const [index, { objects, error }] of renderAll(rounds.map((round) => replaced(plain, round))).entries()) {
      const what = JSON.stringify(rounds[index]);
      expect(error, what).toBe('');
      const configuration = translated(kind, objects);
      const ports = { grpc: 50051, admin: 9090 };
      expect(
        validateBootstrap(findEnvoy(process.env), { ...configuration, ports, pods: [], upstream: 8000 }),
        what,
      ).toBe('');
    }
  }, 1_800_000);
});

/** Every value in it, and every object and list with values; not what is in objects that are not the chart's. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (['extraObjects', 'initContainers', 'extraContainers'].includes(String(path[0])) && path.length === 2) return [];
  if (value === null || typeof value !== 'object') return [path];
  const below = Object.entries(value).flatMap(([name, one]) =>
    placesIn(one, [...path, Array.isArray(value) ? Number(name) : name]),
  );
  return path.length === 0 ? below : [path, ...below];
}

/** Values of other types, out of any range, of other forms, and those that contradict their neighbours. */
function wrongFor(values: Values, path: Path): readonly unknown[] {
  const value = valueAt(values, path);
  const around = valueAt(values, path.slice(0, -1)) as Values | unknown[];
  // Another entry of a list would be there twice, which is tried with the list itself.
  const beside = Array.isArray(around) ? [] : Object.values(around).filter((one) => one !== value);
  if (typeof value === 'boolean') return [!value, 'yes', 0, [], {}];
  if (typeof value === 'number') {
    const nearby = beside.flatMap((one) => (typeof one === 'number' ? [one - 1, one + 1] : []));
    const numbers = [-1, 0, 1.5, 2 ** 31, 2 ** 53, 1e30, ...nearby].filter((one) => one !== value);
    return ['lots', '', true, ...new Set(numbers), [], {}];
  }
  if (Array.isArray(value)) {
    const same = [value[0], value[0]];
    return ['x', 7, {}, [7], ['x'], [{}], [[]], same, Array.from({ length: 100 }, () => value[0])];
  }
  if (value !== null && typeof value === 'object') {
    const names = ['no_such', '', 'a b', 'UPPER', '-', 'x'.repeat(300)];
    return ['x', 7, [], ...names.flatMap((name) => ['x', { x: 1 }].map((one) => ({ ...value, [name]: one })))];
  }
  const numbers = ['0', '-1', '1.5', '1e3', '99999999999999999999', '0s', '1m1h'];
  const words = ['', ' ', 'true', 'null', 'no-such', 'UPPER', '-x', 'x'.repeat(300), 'é'];
  const marks = ['a b', 'a\nb', 'a: b', '#a', "'", '{{ x }}', '*', 'a,b'];
  const places = ['/', '/a//b', '/a/../b', 'a/b', 'a:80', 'http://', 'http://a:99999', 'http://a b'];
  const others = beside.filter((one) => typeof one === 'string' && one.length < 100);
  return [7, true, [], {}, ...new Set([...numbers, ...words, ...marks, ...places, ...others])].filter(
    (one) => one !== value,
  );
}

function valueAt(values: unknown, path: Path): unknown {
  return path.reduce((value, name) => (value as Values)[name], values);
}

function replaced(values: Values, wrongs: readonly Wrong[]): Values {
  const copy = structuredClone(values);
  for (const { path, value } of wrongs) (valueAt(copy, path.slice(0, -1)) as Values)[path.at(-1) ?? ''] = value;
  return copy;
}

/** As Helm lays values over the defaults. */
function merged(under: Values, over: Values): Values {
  const isMap = (value: unknown): value is Values =>
    value !== null && typeof value === 'object' && !Array.isArray(value);
  const entries = Object.entries(over).map(([name, value]) => {
    const below = under[name];
    return [name, isMap(value) && isMap(below) ? merged(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(entries) };
}

/** Rounds of values, none of which is inside another: Helm names every one that is wrong at once. */
function roundsOf(wrongs: readonly Wrong[]): Wrong[][] {
  const rounds: { taken: Set<string>; wrongs: Wrong[] }[] = [];
  for (const wrong of wrongs) {
    const key = `${wrong.path.join('/')}/`;
    const free = rounds.find(({ taken }) => ![...taken].some((one) => one.startsWith(key) || key.startsWith(one)));
    if (free === undefined) rounds.push({ taken: new Set([key]), wrongs: [wrong] });
    else {
      free.taken.add(key);
      free.wrongs.push(wrong);
    }
  }
  return rounds.map((round) => round.wrongs);
}

/** Whether an error is about this place, or about something in what was put there. */
function namesPlace(error: string, path: Path): boolean {
  const pointer = `/${path.map((name) => String(name).replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
  return error.includes(`at '${pointer}'`) || error.includes(`at '${pointer}/`);
}

/** What Helm 4 makes of each of these values. */
function renderAll(all: readonly Values[]): Rendered[] {
  const results: Rendered[] = [];
  for (let from = 0; from < all.length; from += 100) {
    const input = all.slice(from, from + 100).map((values) => JSON.stringify(values));
    for (const line of runTool('render', [chart], { input: input.join('\n') })
      .trim()
      .split('\n')) {
      const { manifest = '', error = '' } = JSON.parse(line) as { manifest?: string; error?: string };
      results.push(error === '' ? parsed(manifest) : { objects: [], error });
    }
  }
  return results;
}

const parsedDocuments = new Map<string, KubernetesObject[]>();

/** The objects of a manifest, but for what `helm test` runs; the same for the same text. */
function parsed(manifest: string): Rendered {
  const objectsOf = (text: string) => {
    const objects = parsedDocuments.get(text) ?? parseObjects(text);
    parsedDocuments.set(text, objects);
    return objects.filter(({ spec }) => spec?.containers === undefined);
  };
  try {
    return { objects: manifest.split(/^---$/m).flatMap(objectsOf), error: '' };
  } catch (error) {
    return { objects: [], error: `no YAML: ${error}` };
  }
}

/** What `helm template` says of values that it refuses. */
function errorOf(helm: 'helm' | 'helm3', values: Values): string {
  const args = ['template', 'responses-extproc', chart, '--kube-version', '1.37.0', '--values', '-'];
  try {
    return runTool(helm, args, { input: JSON.stringify(values) }) && '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the gateway's control plane makes of them. Throws where it does not accept one. */
function translated(kind: string, objects: readonly KubernetesObject[]): GatewayConfiguration {
  const environment = environmentOf(objectOf(objects, 'Deployment'));
  if (kind === 'istio') return ofIstio(translateForIstio(objects), environment);
  const made = translateForEnvoyGateway([...objects, ...chatService, ...secrets]);
  for (const [name, conditions] of made.conditions)
    for (const { status, type, message } of conditions)
      if (status !== 'True') throw new Error(`${name}: ${type}: ${message}`);
  return ofEnvoyGateway(made, environment);
}

async function refusals(server: ApiServer, objects: readonly KubernetesObject[]): Promise<string[]> {
  const found: string[] = [];
  for (const object of objects) {
    // As if each namespace were there.
    const here = { ...object, metadata: { ...object.metadata, namespace: 'llm' } };
    const message = await server.create(here, { dryRun: true });
    if (message !== null) found.push(`${object.kind} ${object.metadata.name}: ${message}`);
  }
  return found;
}

/** What the service says of its environment and its profiles; empty if it would start. */
function serviceRefuses(objects: readonly KubernetesObject[]): string {
  try {
    readConfig(environmentOf(objectOf(objects, 'Deployment')));
    for (const { data } of objects.filter(({ metadata }) => metadata.name.endsWith('-profiles')))
      readProfilesFile(data?.['profiles.json'] ?? '', 'profiles.json');
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
