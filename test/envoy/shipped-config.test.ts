import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findEnvoy } from '../../mesh/envoy-binary.ts';
import { type EnvoyConfig, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../mesh/processes.ts';
import { readConfig } from '../../src/service/settings/config.ts';

const text = readFileSync(shippedEnvoyConfig, 'utf8');
const config = parse(text) as EnvoyConfig;

const minimal = join(import.meta.dirname, '../../envoy/minimal.yaml');

test.each([shippedEnvoyConfig, minimal])('%s is valid to Envoy as it is shipped', (file) => {
  const { stderr, status } = spawnSync(findEnvoy(process.env).path, ['--mode', 'validate', '-c', file], {
    encoding: 'utf8',
  });
  expect(stderr).not.toMatch(/deprecated|\[(warning|error|critical)\]/i);
  expect(status).toBe(0);
});

test('every setting of envoy/minimal.yaml is that of envoy.yaml, where WebSockets are on', () => {
  const least = parse(readFileSync(minimal, 'utf8'));
  const whole = parse(text.replace('numerator: 0', 'numerator: 100'));
  expect(differences(least, whole)).toEqual([]);
});

/** The places at which `part` says something else than `whole`. Entries of a list are found by their name, or by being the same. */
function differences(part: unknown, whole: unknown, path = ''): string[] {
  if (Array.isArray(part) && Array.isArray(whole))
    return part.flatMap((entry, index) => {
      const [name, others] = [Object(entry).name, whole.filter((other) => Object(other).name === Object(entry).name)];
      const found = others.map((other) => differences(entry, other, `${path}[${name ?? index}]`));
      return found.toSorted((one, other) => one.length - other.length)[0] ?? [`${path}[${name ?? index}]`];
    });
  if (Object(part) === part && Object(whole) === whole)
    return Object.entries(part as object).flatMap(([name, value]) =>
      differences(value, (whole as Record<string, unknown>)[name], `${path}.${name}`),
    );
  return part === whole ? [] : [path];
}

describe('envoy/envoy.yaml', () => {
  test('has its admin interface on loopback', () => {
    expect(config.admin.address.socket_address.address).toBe('127.0.0.1');
  });

  test('takes a quarter more than the service, for Chat forms that are longer', () => {
    const responses = findEnvoyRoute(config, 'responses');
    expect(responses['request_body_buffer_limit']).toBe(1.25 * readConfig({}).MAX_REQUEST_BYTES);
  });

  test('waits longer for a silent upstream than the service, which can tell the client', () => {
    const responses = findEnvoyRoute(config, 'responses');
    const seconds = Number(/^(\d+)s$/.exec(String(responses.route['idle_timeout']))?.[1]);
    expect(seconds * 1000).toBeGreaterThan(readConfig({}).UPSTREAM_IDLE_TIMEOUT_MS);
  });

  test('looks for the service where it listens by default', () => {
    const port = readConfig({}).LISTEN.split(':').at(-1);
    expect(text).toContain(`socket_address: { address: 127.0.0.1, port_value: ${port} }`);
  });
});
