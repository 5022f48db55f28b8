/** Configurations of Envoy, changed as a guide says. */
import { expect } from 'vitest';
import { parse } from 'yaml';
import { buildAddress, type EnvoyConfig, findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import type { CertificateAuthority } from './certificates.ts';
import type { ScriptedUpstream } from './upstream.ts';

const authorities = { trusted_ca: { filename: '/etc/ssl/certs/ca-certificates.crt' } };

/** Puts HTTP filters of a guide, as YAML, where it says: before ext_proc. */
export function putBefore(config: EnvoyConfig, blocks: readonly string[]): void {
  const filters = findConnectionManager(config).http_filters as unknown as object[];
  filters.unshift(...blocks.flatMap((block) => parse(block) as object[]));
}

/** Leads a cluster of a recipe to the provider of the test: nothing changes but the address, and who signs certificates on this machine. */
export function useProvider(
  config: EnvoyConfig,
  cluster: string,
  { port }: ScriptedUpstream,
  authority: CertificateAuthority,
): void {
  const found = findCluster(config, cluster);
  const [endpoint] = found.load_assignment.endpoints[0].lb_endpoints;
  endpoint.endpoint.address = buildAddress({ host: '127.0.0.1', port });
  const { common_tls_context } = Object(found.transport_socket).typed_config;
  expect(common_tls_context.validation_context).toMatchObject(authorities);
  common_tls_context.validation_context.trusted_ca.filename = authority.caFile;
}
