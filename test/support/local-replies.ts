import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { EnvoyBinary } from '../../mesh/envoy-binary.ts';
import { type EnvoyConfig, findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../mesh/processes.ts';
import { addClusterLike } from './envoy-clusters.ts';
import { startTestMesh, type TestMesh } from './mesh.ts';
import { completion } from './upstream.ts';

const typeOf = (name: string) => `type.googleapis.com/envoy.extensions.filters.http.${name}`;

/** The rate limit that the shipped file has ready to be switched on, with three tokens. */
function shippedRateLimit(): object {
  const text = readFileSync(shippedEnvoyConfig, 'utf8').replace(/^( *)#: /gm, '$1');
  const [filter] = findConnectionManager(parse(text) as EnvoyConfig).http_filters;
  filter.typed_config['token_bucket'] = { max_tokens: 3, tokens_per_fill: 1, fill_interval: '3600s' };
  return filter;
}

/** A filter that wants a token of requests with the header `x-jwt`. */
function jwtAuthn(): object {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'a' }] };
  return {
    name: 'envoy.filters.http.jwt_authn',
    typed_config: {
      '@type': typeOf('jwt_authn.v3.JwtAuthentication'),
      providers: { issuer: { issuer: 'https://issuer.example', local_jwks: { inline_string: JSON.stringify(jwks) } } },
      rules: [
        {
          match: { prefix: '/', headers: [{ name: 'x-jwt', present_match: true }] },
          requires: { provider_name: 'issuer' },
        },
      ],
    },
  };
}

/** A filter that asks the cluster `authorizer`, which denies requests with the header `x-deny`. */
const extAuthz = {
  name: 'envoy.filters.http.ext_authz',
  typed_config: {
    '@type': typeOf('ext_authz.v3.ExtAuthz'),
    http_service: {
      server_uri: { uri: 'http://authorizer', cluster: 'authorizer', timeout: '240s' },
      authorization_request: { allowed_headers: { patterns: [{ exact: 'x-deny' }] } },
    },
  },
};

/** A filter that denies requests with the header `x-late`. */
const rbac = {
  name: 'envoy.filters.http.rbac',
  typed_config: {
    '@type': typeOf('rbac.v3.RBAC'),
    rules: {
      action: 'DENY',
      policies: {
        late: {
          permissions: [{ header: { name: 'x-late', present_match: true } }],
          principals: [{ any: true }],
        },
      },
    },
  },
};

const cors = { name: 'envoy.filters.http.cors', typed_config: { '@type': typeOf('cors.v3.Cors') } };
const corsPolicy = {
  'envoy.filters.http.cors': {
    '@type': typeOf('cors.v3.CorsPolicy'),
    allow_origin_string_match: [{ exact: 'https://app.example' }],
    allow_methods: 'POST',
  },
};

/**
 * Tests with a real Envoy, the newest without `envoy`: authentication and the shipped rate limit before the service, another filter
 * behind it. `tellsAll`: Envoy sends the service its local replies, as all versions after 1.36 do.
 */
export function describeLocalReplies(name: string, tellsAll: boolean, envoy?: () => EnvoyBinary): void {
  describe(name, () => {
    let mesh: TestMesh;
    const authorizer = createServer(({ headers }, response) => {
      response.writeHead('x-deny' in headers ? 403 : 200).end();
    });
    beforeAll(async () => {
      await new Promise<void>((resolve) => authorizer.listen(0, '127.0.0.1', resolve));
      const { port } = authorizer.address() as AddressInfo;
      mesh = await startTestMesh({
        ...(envoy !== undefined && { envoy: envoy() }),
        edit(config) {
          addClusterLike(config, 'chat', 'authorizer', { host: '127.0.0.1', port });
          const manager = findConnectionManager(config);
          const filters = manager.http_filters as unknown as object[];
          filters.unshift(cors, jwtAuthn(), extAuthz, shippedRateLimit());
          filters.splice(-1, 0, rbac);
          manager.route_config.virtual_hosts[0]['typed_per_filter_config'] = corsPolicy;
        },
      });
      mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
      mesh.upstream.script('busy', { status: 429, body: ['{"error":{"message":"Theirs"}}'] });
    });
    afterAll(async () => {
      await mesh.close();
      authorizer.close();
    });

    const outcomes = async () => {
      const samples = (await mesh.service.admin('/metrics')).matchAll(
        /^responses_extproc_exchanges_total\{.*?outcome="(\w+)".*?\} (\d+)$/gm,
      );
      return Object.fromEntries([...samples].map(([, outcome, count]) => [outcome, Number(count)]));
    };

    test('each refusal is the API’s error, and counts as what it is', async () => {
      const post = async (model: string, headers: Record<string, string> = {}) => {
        const answer = await mesh.post({ model, input: 'Hi' }, { headers });
        return [answer.status, ((await answer.json()) as { error: { code?: string } | null }).error?.code ?? null];
      };
      expect(await post('m')).toEqual([200, null]);
      expect(await post('busy')).toEqual([429, 'rate_limit_exceeded']);
      expect((await post('m', { 'x-late': '1', 'x-request-id': 'late' }))[0]).toBe(403);
      for (const id of ['limited-1', 'limited-2'])
        expect(await post('m', { 'x-request-id': id })).toEqual([429, 'rate_limit_exceeded']);
      for (const id of ['anonymous-1', 'anonymous-2'])
        expect(await post('m', { 'x-jwt': '1', 'x-request-id': id })).toEqual([401, 'invalid_api_key']);
      expect((await post('m', { 'x-deny': '1' }))[0]).toBe(403);
      const preflight = await fetch(`${mesh.url}/v1/responses`, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([200, 'POST']);

      // The preflight is not what Envoy calls a local reply: 1.36 sends it too.
      const expected = tellsAll ? { local_reply: 7, aborted: 0 } : { local_reply: 1, aborted: 1 };
      await expect.poll(outcomes).toMatchObject({ completed: 1, upstream_error: 1, refused: 0, ...expected });
      expect(mesh.upstream.all.length).toBe(2);
      // A call for each: only 1.36 spares those of requests that are refused before this filter.
      const started = await mesh.admin('/stats?filter=http.ingress.ext_proc.streams_started');
      expect(started).toContain(`streams_started: ${tellsAll ? 9 : 4}`);
    });

    test('the upstream’s figures have the upstream’s own error alone', async () => {
      const metrics = await mesh.service.admin('/metrics');
      const errors = [...metrics.matchAll(/^responses_extproc_upstream_errors_total\{(.*)\} (\d+)$/gm)];
      expect(errors.map(([, labels = '', count]) => [/status="(\w+)"/.exec(labels)?.[1], count])).toEqual([
        ['429', '1'],
      ]);
    });

    if (!tellsAll) return;
    test('the log has Envoy’s id, method and path, and no status of an upstream', async () => {
      for (const [id, status] of Object.entries({ 'limited-1': 429, 'anonymous-2': 401, late: 403 })) {
        const line = await mesh.service.logged(({ request_id }) => request_id === id);
        expect(line).toMatchObject({ outcome: 'local_reply', status, upstream_status: null });
        expect(line).toMatchObject({ method: 'POST', path: '/v1/responses' });
      }
    });

    test('an upstream that cannot be reached is still its own error, without a status', async () => {
      const gone = await startTestMesh({
        ...(envoy !== undefined && { envoy: envoy() }),
        edit(config) {
          findCluster(config, 'chat').load_assignment.endpoints[0].lb_endpoints.splice(0);
        },
      });
      try {
        const answer = await gone.post({ model: 'm', input: 'Hi' });
        expect([answer.status, await answer.json()]).toMatchObject([503, { error: { code: 'upstream_unavailable' } }]);
        const line = await gone.service.logged(({ outcome }) => outcome === 'upstream_error');
        expect(line).toMatchObject({ status: 503, upstream_status: null });
        expect(await gone.service.admin('/metrics')).toMatch(
          /^responses_extproc_upstream_errors_total\{.*status="none".*\} 1$/m,
        );
      } finally {
        await gone.close();
      }
    });
  });
}
