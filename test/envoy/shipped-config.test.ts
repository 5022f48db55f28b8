import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/service/settings/config.ts';
import { findEnvoy } from '../../tools/mesh/envoy-binary.ts';
import { type EnvoyConfig, responsesRouteOf } from '../../tools/mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../tools/mesh/parts.ts';

const text = readFileSync(shippedEnvoyConfig, 'utf8');
const config = parse(text) as EnvoyConfig;

describe('envoy/envoy.yaml', () => {
  test('is valid to Envoy as it is shipped', () => {
    const { stderr, status } = spawnSync(
      findEnvoy(process.env).path,
      ['--mode', 'validate', '-c', shippedEnvoyConfig],
      {
        encoding: 'utf8',
      },
    );
    expect(stderr).not.toMatch(/deprecated|\[(warning|error|critical)\]/i);
    expect(status).toBe(0);
  });

  test('has its admin interface on loopback', () => {
    expect(config.admin.address.socket_address.address).toBe('127.0.0.1');
  });

  test('takes a quarter more than the service, for Chat forms that are longer', () => {
    const responses = responsesRouteOf(config);
    expect(responses['request_body_buffer_limit']).toBe(1.25 * readConfig({}).MAX_REQUEST_BYTES);
  });

  test('waits longer for a silent upstream than the service, which can tell the client', () => {
    const responses = responsesRouteOf(config);
    const seconds = Number(/^(\d+)s$/.exec(String(responses.route['idle_timeout']))?.[1]);
    expect(seconds * 1000).toBeGreaterThan(readConfig({}).UPSTREAM_IDLE_TIMEOUT_MS);
  });

  test('looks for the service where it listens by default', () => {
    const port = readConfig({}).LISTEN.split(':').at(-1);
    expect(text).toContain(`socket_address: { address: 127.0.0.1, port_value: ${port} }`);
  });
});
