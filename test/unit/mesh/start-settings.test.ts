import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeEnvoy, useServiceTls, useUpstream } from '../../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../../mesh/processes.ts';
import { buildEnvoyConfig, buildServiceEnvironment, chooseProfile, listPages } from '../../../mesh/start-settings.ts';

const options = {
  ...{ port: undefined, upstream: undefined, upstreamKey: undefined, profile: undefined },
  printEnvoyConfig: false,
};
const ports = { listen: 1, admin: 2, service: 3, webSocket: 4, upstream: 5, page: 6 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'start-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The shipped configuration with these ports. */
function placed() {
  const at = (port: number) => ({ host: '127.0.0.1', port });
  const places = { listen: at(1), admin: at(2), service: at(3), webSocket: at(4), upstream: at(5) };
  const config = placeEnvoy(readFileSync(shippedEnvoyConfig, 'utf8'), places);
  config.static_resources.listeners[0].enable_reuse_port = false;
  return config;
}

describe('Envoy is started', () => {
  it('on the ports that were found, which it shares with nobody', () => {
    expect(buildEnvoyConfig(options, {}, ports, folder)).toEqual(placed());
    expect(readdirSync(folder)).toEqual([]);
  });

  it('with TLS to the service where that has a certificate and its key', () => {
    const files = { TLS_CERT_FILE: '/cert.pem', TLS_KEY_FILE: '/key.pem' };
    const config = placed();
    expect(buildEnvoyConfig(options, { TLS_CERT_FILE: '/cert.pem' }, ports, folder)).toEqual(config);
    expect(buildEnvoyConfig(options, { ...files, TLS_CERT_FILE: '' }, ports, folder)).toEqual(config);
    useServiceTls(config, { certFile: '/cert.pem', keyFile: '/key.pem' });
    expect(buildEnvoyConfig(options, files, ports, folder)).toEqual(config);
  });

  it('with a Chat server, its key and profile, and the authorities that are trusted here', () => {
    const before = getCACertificates('default');
    const url = new URL('https://chat.example/v1');
    const config = placed();
    const authorities = join(folder, 'authorities.pem');
    useUpstream(config, { url, key: 'sk-1', profile: 'vllm', authorities });
    const given = { ...options, upstream: url, upstreamKey: 'sk-1', profile: 'vllm' };
    expect(buildEnvoyConfig(given, {}, ports, folder)).toEqual(config);
    const trusted = readFileSync(authorities, 'utf8').match(/^-----BEGIN CERT.*?^-----END CERTIFICATE-----$/gms) ?? [];
    const prints = (certificates: readonly string[]) =>
      new Set(certificates.map((one) => new X509Certificate(one).fingerprint256));
    expect(prints(trusted)).toEqual(prints([...before, ...getCACertificates('system')]));
    expect(prints(getCACertificates('default'))).toEqual(prints(trusted));
  });
});

describe('the service is started', () => {
  const usual = {
    WEBSOCKET_LISTEN: '127.0.0.1:4',
    WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:1/v1',
    ADMIN_LISTEN: '127.0.0.1:6',
    INSPECT: 'on',
    INSPECT_SEND_TO: 'http://127.0.0.1:1/v1',
    DRAIN_DELAY_MS: '0',
    DRAIN_TIMEOUT_MS: '1000',
    LISTEN: '127.0.0.1:3',
  };

  it.each([
    [{}, {}],
    [{ LISTEN: '0.0.0.0:9' }, {}],
    [{ WORKERS: '1' }, {}],
    [{ WORKERS: '2' }, { INSPECT: 'off' }],
    [{ ADMIN_LISTEN: 'off' }, { ADMIN_LISTEN: 'off', INSPECT: 'off' }],
    [
      { ADMIN_LISTEN: ':7', INSPECT: 'off' },
      { ADMIN_LISTEN: ':7', INSPECT: 'off' },
    ],
    [{ WORKERS: '2', INSPECT: 'on' }, { INSPECT: 'on' }],
    [{ INSPECT_SEND_TO: 'http://a/v1' }, { INSPECT_SEND_TO: 'http://a/v1' }],
  ])('with what the user set, but where Envoy finds it: %j', (environment, changed) => {
    expect(buildServiceEnvironment(options, environment, ports)).toEqual({ ...usual, ...changed });
  });

  it('with the profile of the command line', () => {
    expect(buildServiceEnvironment({ ...options, profile: 'vllm' }, { UPSTREAM_PROFILE: 'ollama' }, ports)).toEqual({
      ...usual,
      UPSTREAM_PROFILE: 'vllm',
    });
  });

  it.each([
    [undefined, undefined, 'generic'],
    [undefined, '', 'generic'],
    [undefined, 'vllm', 'vllm'],
    ['vllm', undefined, 'vllm'],
    ['generic', 'vllm', 'generic'],
  ])('--profile %s and UPSTREAM_PROFILE %s: the service has %s', (profile, variable, expected) => {
    expect(chooseProfile({ ...options, profile }, { UPSTREAM_PROFILE: variable })).toBe(expected);
  });
});

describe('pages are told', () => {
  const envoy = (metrics: string) => `Envoy 1.40.0, its admin page: http://127.0.0.1:2   metrics: ${metrics}\n`;
  it.each([
    ['127.0.0.1:6', 'on', '127.0.0.1:6'],
    ['0.0.0.0:6', 'on', '127.0.0.1:6'],
    ['[::]:6', 'on', '127.0.0.1:6'],
    ['[::1]:6', 'on', '[::1]:6'],
    ['10.0.0.0.0.0:6', 'off', '10.0.0.0.0.0:6'],
  ])('at ADMIN_LISTEN=%s with INSPECT=%s', (listen, inspect, place) => {
    const inspector = inspect === 'on' ? `See each request and what it becomes: http://${place}/inspect\n` : '';
    expect(listPages({ ADMIN_LISTEN: listen, INSPECT: inspect }, '1.40.0', 2)).toBe(
      `${envoy(`http://${place}/metrics`)}${inspector}`,
    );
  });

  it('unless there are none', () => {
    expect(listPages({ ADMIN_LISTEN: 'off', INSPECT: 'off' }, '1.40.0', 2)).toBe(envoy('off (ADMIN_LISTEN)'));
  });
});
