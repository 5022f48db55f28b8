import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findCluster, findEnvoyRoute, placeEnvoy, useServiceTls, useUpstream } from '../../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../../mesh/processes.ts';

const shipped = readFileSync(shippedEnvoyConfig, 'utf8');
const at = (port: number) => ({ host: '127.0.0.1', port });
const places = { listen: at(1), admin: at(2), service: at(3), upstream: at(4) };

/** By its place what stands in `after` and not in `before`: names stand for an index, and what leads to many places is left out. */
function changes(before: unknown, after: unknown, path = ''): Record<string, unknown> {
  if (JSON.stringify(before) === JSON.stringify(after)) return {};
  if (!isObject(before) || !isObject(after)) {
    const place = path
      .replace(/ static_resources (?:clusters|listeners)| load_assignment.*(?= socket_address)/g, '')
      .replace(/ ingress filter_chains.* virtual_hosts api(?: routes)?/, '')
      .replace('typed_per_filter_config envoy.filters.http.ext_proc overrides grpc_initial_metadata', 'metadata');
    return { [place.trim()]: after };
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const nameOf = (key: string) =>
    Array.isArray(after) && isObject(after[Number(key)]) ? (after[Number(key)].name ?? key) : key;
  return Object.assign({}, ...keys.map((key) => changes(before[key], after[key], `${path} ${nameOf(key)}`)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const tls = (context: object) => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    ...context,
  },
});

describe('what npm start changes in the shipped configuration of Envoy', () => {
  it('is addresses', () => {
    expect(changes(parse(shipped), placeEnvoy(shipped, places))).toEqual({
      'admin address socket_address port_value': 2,
      'chat socket_address port_value': 4,
      'responses_extproc socket_address port_value': 3,
      'ingress address socket_address address': '127.0.0.1',
      'ingress address socket_address port_value': 1,
    });
  });

  it('is the switch for WebSockets, where the service has them', () => {
    const webSocket = { host: '::1', port: 5 };
    expect(changes(placeEnvoy(shipped, places), placeEnvoy(shipped, { ...places, webSocket }))).toEqual({
      'responses_extproc_websocket socket_address address': '::1',
      'responses_extproc_websocket socket_address port_value': 5,
      'websocket match runtime_fraction default_value numerator': 100,
    });
  });

  /** What a real Chat server changes in it. */
  function upstreamAt(url: string, key?: string, profile?: string) {
    const config = placeEnvoy(shipped, places);
    useUpstream(config, { url: new URL(url), key, profile, authorities: '/authorities.pem' });
    return changes(placeEnvoy(shipped, places), config);
  }
  const routesTo = (host: string, metadata: object[]) => ({
    ...Object.fromEntries(
      ['responses', 'conversations', 'catalog'].flatMap((name) => [
        [`${name} route host_rewrite_literal`, host],
        [`${name} metadata`, metadata],
      ]),
    ),
    'untouched_chat route host_rewrite_literal': host,
    'untouched_models route host_rewrite_literal': host,
  });

  it('is a server at another path, with a key and a profile', () => {
    expect(upstreamAt('http://chat.example/api/v2//', 'sk-50%', 'vllm')).toEqual({
      'chat socket_address address': 'chat.example',
      'chat socket_address port_value': 80,
      'request_headers_to_add 1': {
        header: { key: 'authorization', value: 'Bearer sk-50%%' },
        append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
      },
      ...routesTo('chat.example', [
        { key: 'x-upstream-path', value: '/api/v2/chat/completions' },
        { key: 'x-upstream-profile', value: 'vllm' },
      ]),
      'untouched_chat route prefix_rewrite': '/api/v2/chat/completions',
      'untouched_models route prefix_rewrite': '/api/v2/models',
    });
  });

  it('is a server at /v1, to which the client’s own key goes', () => {
    expect(upstreamAt('http://127.0.0.1:11434/v1')).toEqual({
      'chat socket_address port_value': 11434,
      ...routesTo('127.0.0.1:11434', [{ key: 'x-upstream-path', value: '/v1/chat/completions' }]),
    });
  });

  it.each([
    ['https://chat.example/v1', 'chat.example', 443, { sni: 'chat.example' }, 'DNS'],
    ['https://[::1]:8443/v1', '::1', 8443, {}, 'IP_ADDRESS'],
  ])('is a check of the certificate of %s', (url, host, port, sni, san_type) => {
    const { host: authority } = new URL(url);
    const validation_context = {
      trusted_ca: { filename: '/authorities.pem' },
      match_typed_subject_alt_names: [{ san_type, matcher: { exact: host } }],
    };
    expect(upstreamAt(url)).toEqual({
      'chat socket_address address': host,
      'chat socket_address port_value': port,
      'chat transport_socket': tls({ ...sni, common_tls_context: { validation_context } }),
      ...routesTo(authority, [{ key: 'x-upstream-path', value: '/v1/chat/completions' }]),
    });
  });

  it('is TLS to a service that has a certificate', () => {
    const config = placeEnvoy(shipped, places);
    useServiceTls(config, { certFile: '/cert.pem', keyFile: '/key.pem' });
    const tls_certificates = [{ certificate_chain: { filename: '/cert.pem' }, private_key: { filename: '/key.pem' } }];
    expect(changes(placeEnvoy(shipped, places), config)).toEqual({
      'responses_extproc transport_socket': tls({ common_tls_context: { alpn_protocols: ['h2'], tls_certificates } }),
    });
  });

  it('is refused where a part is missing', () => {
    const config = placeEnvoy(shipped, places);
    expect(() => findCluster(config, 'x')).toThrow('envoy.yaml has no cluster x');
    expect(() => findEnvoyRoute(config, 'x')).toThrow('envoy.yaml has no route x');
    const withoutSwitch = shipped.replace('runtime_fraction:', 'no_fraction:');
    expect(() => placeEnvoy(withoutSwitch, { ...places, webSocket: at(5) })).toThrow(
      'the route websocket of envoy.yaml has no switch',
    );
  });
});
