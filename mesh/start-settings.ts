/** The settings with which the local mesh starts Envoy and the service, by its options and its own environment variables. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { stringify } from 'yaml';
import { type EnvoyConfig, placeEnvoy, useServiceTls, useUpstream } from './envoy-config.ts';
import { type MeshOptions, thisCommand } from './options.ts';
import { shippedEnvoyConfig, stopAtOnce } from './processes.ts';

export interface MeshPorts {
  readonly listen: number;
  readonly admin: number;
  readonly service: number;
  readonly webSocket: number;
  readonly upstream: number;
  /** The port of the inspector and the metrics, unless the user chose one. */
  readonly page: number;
}

/** Builds Envoy's configuration. It writes an upstream's certificate authorities into the folder, and uses them itself. */
export function buildEnvoyConfig(
  options: MeshOptions,
  environment: NodeJS.ProcessEnv,
  ports: MeshPorts,
  folder: string,
): EnvoyConfig {
  const authorities = join(folder, 'authorities.pem');
  if (options.upstream !== undefined) {
    // The authorities that Node (including NODE_EXTRA_CA_CERTS) and the system trust: Envoy itself trusts none.
    const trusted = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
    setDefaultCACertificates(trusted); // for our own requests
    writeFileSync(authorities, trusted.join('\n'));
  }
  return buildPlacedConfig(options, environment, ports, authorities);
}

/** The files in which systems keep the authorities they trust: Debian and Ubuntu, Fedora and RHEL, Alpine and macOS. */
const systemAuthorities = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const;

/**
 * The text of `--print-envoy-config`: the configuration with the addresses of envoy.yaml, and in its first lines the
 * commands that start the service and Envoy.
 */
export function writeEnvoyConfig(options: MeshOptions, environment: NodeJS.ProcessEnv): string {
  const listen = options.port ?? 10_000;
  const ports = { listen, admin: 9901, service: 50_051, webSocket: 50_052, upstream: 8080, page: 0 };
  const authorities = systemAuthorities.find((file) => existsSync(file)) ?? systemAuthorities[0];
  const config = buildPlacedConfig(options, environment, ports, authorities);
  const profile = options.profile === undefined ? '' : `UPSTREAM_PROFILE=${options.profile} `;
  return `# Envoy's configuration as \`${thisCommand.plain}\` runs it, with the addresses of envoy/envoy.yaml, which explains each setting.
${options.upstreamKey === undefined ? '' : '# It contains the key of the Chat server: let nobody else read it.\n'}#
# The service that it expects, then Envoy:
#   ${profile}WEBSOCKET_LISTEN=127.0.0.1:${ports.webSocket} WEBSOCKET_FORWARD_TO=http://127.0.0.1:${ports.listen}/v1 ${thisCommand.service}
#   ${thisCommand.envoy} -c FILE
${stringify(config, { lineWidth: 0 })}`;
}

function buildPlacedConfig(
  { upstream, upstreamKey, profile }: MeshOptions,
  environment: NodeJS.ProcessEnv,
  ports: MeshPorts,
  authorities: string,
): EnvoyConfig {
  const at = (port: number) => ({ host: '127.0.0.1', port });
  const config = placeEnvoy(readFileSync(shippedEnvoyConfig, 'utf8'), {
    listen: at(ports.listen),
    admin: at(ports.admin),
    service: at(ports.service),
    upstream: at(ports.upstream),
    webSocket: at(ports.webSocket),
  });
  // With reuse_port two Envoys could share a port unnoticed, and each would get half of the connections.
  config.static_resources.listeners[0].enable_reuse_port = false;
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = environment;
  if (certFile && keyFile) useServiceTls(config, { certFile, keyFile });
  if (upstream !== undefined) useUpstream(config, { url: upstream, key: upstreamKey, profile, authorities });
  return config;
}

/** The service's environment variables. The user's own values for pages and workers prevail over the mesh's. */
export function buildServiceEnvironment({ profile }: MeshOptions, environment: NodeJS.ProcessEnv, ports: MeshPorts) {
  const proxy = `http://127.0.0.1:${ports.listen}/v1`;
  const { ADMIN_LISTEN = `127.0.0.1:${ports.page}`, WORKERS = '1', INSPECT_SEND_TO = proxy } = environment;
  // The inspector is a page of the admin port, and shows the exchanges of one process.
  const { INSPECT = ADMIN_LISTEN === 'off' || WORKERS !== '1' ? 'off' : 'on' } = environment;
  return {
    WEBSOCKET_LISTEN: `127.0.0.1:${ports.webSocket}`,
    WEBSOCKET_FORWARD_TO: proxy,
    ADMIN_LISTEN,
    INSPECT,
    INSPECT_SEND_TO,
    ...stopAtOnce,
    LISTEN: `127.0.0.1:${ports.service}`,
    ...(profile === undefined ? {} : { UPSTREAM_PROFILE: profile }),
  };
}

/** Lines that name pages to open in a browser: Envoy's admin page, the service's metrics and its inspector. */
export function listPages(
  { ADMIN_LISTEN: listen, INSPECT }: Readonly<Record<'ADMIN_LISTEN' | 'INSPECT', string>>,
  version: string,
  admin: number,
): string {
  // A wildcard address cannot be opened in a browser.
  const place = listen.replace(/^(?:0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
  const metrics = listen === 'off' ? 'metrics: off (ADMIN_LISTEN)' : `metrics: http://${place}/metrics`;
  const envoy = `Envoy ${version}, its admin page: http://127.0.0.1:${admin}   ${metrics}\n`;
  return INSPECT === 'on' ? `${envoy}See each request and what it becomes: http://${place}/inspect\n` : envoy;
}

export function chooseProfile({ profile }: MeshOptions, { UPSTREAM_PROFILE }: NodeJS.ProcessEnv): string {
  return profile ?? (UPSTREAM_PROFILE || 'generic');
}
