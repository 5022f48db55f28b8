/**
 * The plain manifests of `envoy/gateway` and `envoy/istio`, rendered from the chart in `deploy/chart`, the variables in its
 * schema, and the parts of `envoy/envoy.yaml` that the chart uses.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findCluster, findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { builtInProfiles, profilesFile } from '../../src/filter/index.ts';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import type { Generator } from './generator.ts';

const root = join(import.meta.dirname, '../..');

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

/** Profiles whose servers take a key in another header than `authorization: Bearer KEY`, and there as it is. */
const keyHeaders = { azure: 'api-key' } as const;

/** The folders of plain manifests, from the root, and the `gateway.kind` that each is rendered with. */
export const manifestFolders = { 'envoy/gateway': 'envoy-gateway', 'envoy/istio': 'istio' } as const;
export type ManifestFolder = keyof typeof manifestFolders;

/** The plain manifests: path → text. The service is the same for both gateways. Throws Helm's message. */
export function renderManifests(): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  for (const [folder, kind] of Object.entries(manifestFolders)) {
    const documents = renderChart(['--set', `gateway.kind=${kind}`]).filter(
      ({ template }) => template !== 'templates/tests.yaml', // for `helm test` alone
    );
    const ofGateway = ({ template }: { template: string }) => /^templates\/(gateway|network|.*\/)/.test(template);
    const service = textOf(
      'any gateway.kind',
      documents.filter((document) => !ofGateway(document)),
    );
    if (service !== (texts.get('envoy/service.yaml') ?? service))
      throw new Error('The service differs by gateway.kind.');
    texts.set('envoy/service.yaml', service);
    texts.set(`${folder}/gateway.yaml`, textOf(`gateway.kind=${kind}`, documents.filter(ofGateway)));
  }
  return Object.fromEntries(texts);
}

/** The chart's documents for these arguments, in a stable order. Throws Helm's message. */
export function renderChart(args: readonly string[], release = 'responses-extproc'): readonly ChartDocument[] {
  return documentsIn(helm(['template', release, join(root, 'deploy/chart'), '--namespace', 'llm', ...args]));
}

/** One object of the chart, and the template that made it. */
export interface ChartDocument {
  readonly template: string;
  readonly text: string;
}

/** What an installation with these arguments makes, and what it says to whoever installs it. Throws Helm's message. */
export function renderInstall(args: readonly string[]): { documents: readonly ChartDocument[]; notes: string } {
  const chart = join(root, 'deploy/chart');
  const output = helm(['install', 'responses-extproc', chart, '--dry-run=client', '--namespace', 'llm', ...args]);
  const [objects = '', notes = ''] = output.split(/^NOTES:\n/m);
  return { documents: documentsIn(objects), notes };
}

function helm(args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(helmBinary(), args, { cwd: root, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function documentsIn(output: string): readonly ChartDocument[] {
  const documents = output.split(/^(?:MANIFEST:\n)?---\n/m).flatMap((document) => {
    const [, template, text] = /^# Source: [^/]+\/(\S+)\n([\s\S]*)$/.exec(document) ?? [];
    return template === undefined || text === undefined ? [] : [{ template, text: `${text.trim()}\n` }];
  });
  const keyOf = ({ template, text }: ChartDocument) =>
    `${template} ${/^kind: (\S+)/m.exec(text)?.[1]} ${/^ {2}name: (\S+)/m.exec(text)?.[1]}`;
  return documents.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function helmBinary(): string {
  const built = join(root, '.cache/kubernetes/bin/helm');
  return existsSync(built) ? built : 'helm';
}

function textOf(values: string, documents: readonly { text: string }[]): string {
  const head = `# Rendered from deploy/chart with ${values}: npm run generate\n`;
  return head + documents.map(({ text }) => `---\n${text}`).join('');
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
  const { properties = {}, definitions } = profilesFile().profilesFileJsonSchema();
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
  return { derived, keyHeaders, profiles: [...builtInProfiles.keys()], variables };
}

/** What Istio's Envoys take over of the connections of clients, besides the access log and the local replies. */
const connectionFields = [
  'merge_slashes',
  'path_with_escaped_slashes_action',
  'common_http_protocol_options',
  'http_protocol_options',
  'preserve_external_request_id',
  'always_set_request_id_in_response',
  'request_headers_timeout',
  'request_timeout',
];

/**
 * The parts of `envoy/envoy.yaml` that other gateways use: fields of the access log, limits of connections, Envoy's own errors as the
 * API's JSON, the header that each pass adds and the route that ends a loop, the filter, the cluster of the service.
 */
export const chartFiles: Generator = {
  name: 'what the chart has of Envoy’s configuration',
  source: 'envoy/envoy.yaml',
  files() {
    const config = parse(readFileSync(join(root, 'envoy/envoy.yaml'), 'utf8'));
    const manager = findConnectionManager(config);
    const [{ typed_config: log }] = manager['access_log'] as [
      { typed_config: { log_format: { json_format: unknown } } },
    ];
    const { connection_keepalive } = manager['http2_protocol_options'] as Record<string, unknown>;
    const { mappers } = manager['local_reply_config'] as { mappers: { body_format_override: unknown }[] };
    const [pass] = manager.route_config.virtual_hosts[0].request_headers_to_add as [{ header: unknown }];
    const { typed_extension_protocol_options, health_checks } = findCluster(config, 'responses_extproc');
    const parts = {
      accessLog: log.log_format.json_format,
      connection: {
        ...Object.fromEntries(connectionFields.map((name) => [name, manager[name]])),
        http2_protocol_options: { connection_keepalive },
      },
      localReplies: { mappers },
      unauthorized: mappers.find((mapper) => JSON.stringify(mapper).includes('invalid_api_key'))?.body_format_override,
      loop: { header: pass.header, route: findEnvoyRoute(config, 'loop') },
      filter: manager.http_filters[0].typed_config,
      service: { typed_extension_protocol_options, health_checks },
    };
    const lines = Object.entries(parts).map(([name, part]) => `  ${JSON.stringify(name)}: ${JSON.stringify(part)}`);
    return { 'deploy/chart/files/envoy.json': `{\n${lines.join(',\n')}\n}\n` };
  },
};

/** Files that the chart has a copy of: Helm reads none outside of its folder, nor values.yaml, and tells of each symbolic link. */
const copies = {
  'alerts.yaml': 'docs/monitoring/alerts.yaml',
  'dashboard.json': 'docs/monitoring/dashboard.json',
  'defaults.yaml': 'deploy/chart/values.yaml',
  'route-by-model.lua': 'envoy/recipes/route-by-model.lua',
};

export const chartCopies: Generator = {
  name: 'what the chart has a copy of',
  source: Object.values(copies).join(', '),
  files: () =>
    Object.fromEntries(
      Object.entries(copies).map(([name, from]) => [
        `deploy/chart/files/${name}`,
        readFileSync(join(root, from), 'utf8'),
      ]),
    ),
};

/** Why nothing can be rendered here, and what to do; null where Helm is there. */
export function helmIsMissing(): string | null {
  if (spawnSync(helmBinary(), ['version']).error === undefined) return null;
  return 'there is no Helm (`scripts/containers/kubernetes-tools.sh helm`, or `helm` on PATH)';
}

export const manifests: Generator = {
  name: 'manifests',
  source: 'deploy/chart',
  missing: helmIsMissing,
  files: renderManifests,
};
