/**
 * The plain manifests of `envoy/gateway` and `envoy/istio`, rendered from the chart in `deploy/chart`, the variables in its
 * schema, and the parts of `envoy/envoy.yaml` that the chart uses.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { profileNames } from '../src/filter/upstream/profiles.ts';
import { profilesFileJsonSchema } from '../src/filter/upstream/profiles-file.ts';
import { settingsIn } from '../src/service/settings/setting.ts';
import { settings } from '../src/service/settings/settings-table.ts';
import { connectionManagerOf, routeOf } from '../tools/mesh/envoy-config.ts';
import type { Generator } from './generator.ts';

const root = join(import.meta.dirname, '..');

/** Variables that the chart sets from other values, and that `config` may not set. */
const derived: readonly string[] = [
  'LISTEN',
  'ADMIN_LISTEN',
  'WORKERS',
  'UPSTREAM_PROFILES_FILE',
  'MAX_REQUEST_BYTES',
  'DRAIN_DELAY_MS',
  'DRAIN_TIMEOUT_MS',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_CLIENT_CA_FILE',
  'WEBSOCKET_LISTEN',
  'WEBSOCKET_FORWARD_TO',
];

/** The folders of plain manifests, from the root; each has the values it is rendered with. */
export const manifestFolders = ['envoy/gateway', 'envoy/istio'] as const;

/** Name of a manifest file → its text. */
export type Manifests = Readonly<Record<'service.yaml' | 'gateway.yaml', string>>;

/** What a folder of plain manifests should contain. Throws Helm's message. */
export function renderManifests(folder: (typeof manifestFolders)[number]): Manifests {
  const documents = renderChart(['--values', join(root, folder, 'values.yaml')]).filter(
    ({ template }) => template !== 'templates/tests.yaml', // for `helm test` alone
  );
  const isOfService = ({ template }: { template: string }) => /^templates\/(?!gateway)[\w-]+\.yaml$/.test(template);
  const head = `# Rendered from deploy/chart with ${folder}/values.yaml: npm run generate\n`;
  return {
    'service.yaml': head + textOf(documents.filter(isOfService)),
    'gateway.yaml': head + textOf(documents.filter((document) => !isOfService(document))),
  };
}

/** The chart's documents for these arguments, in a stable order. Throws Helm's message. */
export function renderChart(
  args: readonly string[],
  release = 'responses-extproc',
): readonly { template: string; text: string }[] {
  const all = ['template', release, join(root, 'deploy/chart'), '--namespace', 'llm', ...args];
  const { status, stdout, stderr, error } = spawnSync(helmBinary(), all, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr);
  const documents = stdout.split(/^---\n/m).flatMap((document) => {
    const [, template, text] = /^# Source: [^/]+\/(\S+)\n([\s\S]*)$/.exec(document) ?? [];
    return template === undefined || text === undefined ? [] : [{ template, text: `${text.trim()}\n` }];
  });
  const keyOf = ({ template, text }: { template: string; text: string }) =>
    `${template} ${/^kind: (\S+)/m.exec(text)?.[1]} ${/^ {2}name: (\S+)/m.exec(text)?.[1]}`;
  return documents.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function helmBinary(): string {
  const built = join(root, '.cache/kubernetes/bin/helm');
  return existsSync(built) ? built : 'helm';
}

function textOf(documents: readonly { text: string }[]): string {
  return documents.map(({ text }) => `---\n${text}`).join('');
}

/** The settings that `config` may set. */
export const configurable = settingsIn(settings).filter(({ variable }) => !derived.includes(variable));

/** The chart's schema with what `config` and `profiles` may hold, from the settings and the flags themselves. */
function withOwnSchemas(text: string): string {
  const schema = JSON.parse(text);
  schema.properties.config = {
    type: 'object',
    description: 'Environment variables of the service: docs/settings.md. Written by npm run generate.',
    additionalProperties: false,
    properties: Object.fromEntries(
      configurable.map(({ variable, form, meaning }) => [variable, { description: meaning, ...form.json }]),
    ),
  };
  const { properties = {}, definitions } = profilesFileJsonSchema();
  Object.assign(schema.definitions, definitions);
  const { propertyNames, additionalProperties } = Object(properties['profiles']);
  schema.properties.profiles = {
    type: 'object',
    description: 'Profiles of your own: docs/upstreams.md. Written by npm run generate.',
    patternProperties: { [propertyNames.pattern]: additionalProperties }, // Helm names another value where `propertyNames` fails
    additionalProperties: false,
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const schemaPath = 'deploy/chart/values.schema.json';
export const chartSchema: Generator = {
  name: 'what the chart knows of variables and profiles',
  source: 'src/service/settings and src/filter/upstream',
  files: () => ({
    [schemaPath]: withOwnSchemas(readFileSync(join(root, schemaPath), 'utf8')),
    'deploy/chart/files/settings.json': `${JSON.stringify(settingsForChart(), null, 2)}\n`,
  }),
};

/** What the schema cannot say of the service's settings: its own profiles, and the range of numbers that are in quotes. */
function settingsForChart(): object {
  const rangeOf = ({ form }: (typeof configurable)[number]) => {
    const [number] = (form.json['anyOf'] ?? []) as { type: string; minimum: number; maximum: number }[];
    return number?.type === 'integer' ? [number.minimum, number.maximum] : null;
  };
  const variables = Object.fromEntries(configurable.map((setting) => [setting.variable, rangeOf(setting)]));
  return { derived, profiles: profileNames, variables };
}

/**
 * The parts of `envoy/envoy.yaml` that other gateways use: the fields of its access log, its own errors as the API's JSON, the header
 * that each pass adds and the route that ends a loop.
 */
export const chartFiles: Generator = {
  name: 'the chart’s access log, local replies and loop',
  source: 'envoy/envoy.yaml',
  files() {
    const config = parse(readFileSync(join(root, 'envoy/envoy.yaml'), 'utf8'));
    const manager = connectionManagerOf(config);
    const [pass] = manager.route_config.virtual_hosts[0].request_headers_to_add as [{ header: unknown }];
    const loop = { header: pass.header, route: routeOf(config, 'loop') };
    const [{ typed_config }] = manager['access_log'] as [{ typed_config: { log_format: { json_format: unknown } } }];
    return {
      'deploy/chart/files/access-log.json': `${JSON.stringify(typed_config.log_format.json_format, null, 2)}\n`,
      'deploy/chart/files/loop.json': `${JSON.stringify(loop, null, 2)}\n`,
      'deploy/chart/files/local-replies.json': `${JSON.stringify(manager['local_reply_config'], null, 2)}\n`,
    };
  },
};

export const manifests: Generator = {
  name: 'manifests',
  source: 'deploy/chart',
  missing: () =>
    spawnSync(helmBinary(), ['version']).error === undefined
      ? null
      : 'there is no Helm (`scripts/kubernetes-tools.sh helm`, or `helm` on PATH)',
  files: () =>
    Object.fromEntries(
      manifestFolders.flatMap((folder) =>
        Object.entries(renderManifests(folder)).map(([name, text]) => [`${folder}/${name}`, text]),
      ),
    ),
};
