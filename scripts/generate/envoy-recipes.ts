/** The recipes of `envoy/recipes`: `envoy/envoy.yaml` with what a hosted upstream or a choice by model needs in its place. */
import { type Generator, textOf } from './generator.ts';

/** What is left out where an upstream has a key of its own. */
const identity = 'request_headers_to_remove: [x-envoy-external-address, x-envoy-internal, x-forwarded-for]';

/** Where Envoy has the provider's key from. */
const secrets = `static_resources:
  secrets:
    # The provider's key, without \`Bearer\`: here a variable of Envoy's environment. A file: \`{ filename: /etc/envoy/provider-key }\`,
    # without a newline at its end.
    - name: provider_key
      generic_secret: { secret: { environment_variable: PROVIDER_API_KEY } }
`;

/** The cluster of a hosted upstream. */
const hostedCluster = (name: string): string => `    - name: ${name}
      per_connection_buffer_limit_bytes: 262144
      type: LOGICAL_DNS # one connection after the other takes the address that the name has then
      dns_lookup_family: ALL
      connect_timeout: 5s
      load_assignment:
        cluster_name: ${name}
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { socket_address: { address: api.example.com, port_value: 443 } } }
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: api.example.com
          common_tls_context:
            validation_context:
              # Debian's, Ubuntu's and Alpine's; Fedora's and RHEL's is /etc/pki/tls/certs/ca-bundle.crt, macOS's /etc/ssl/cert.pem.
              trusted_ca: { filename: /etc/ssl/certs/ca-certificates.crt }
              # The authorities alone would accept any certificate that one of them has signed.
              match_typed_subject_alt_names: [{ san_type: DNS, matcher: { exact: api.example.com } }]
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          common_http_protocol_options: { idle_timeout: 60s } # before the provider closes
          explicit_http_config:
            http_protocol_options: {}
          # The key belongs to this cluster: whatever route leads here, the provider gets this key and no other; no other cluster
          # has it.
          http_filters:
            - name: envoy.filters.http.credential_injector
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.http.credential_injector.v3.CredentialInjector
                overwrite: true # the client's own key goes no further
                credential:
                  name: envoy.http.injected_credentials.generic
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic
                    credential: { name: provider_key }
                    header: authorization # Azure: api-key, without the prefix
                    header_value_prefix: "Bearer "
            - name: envoy.filters.http.upstream_codec
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec
      upstream_connection_options:
        tcp_keepalive: { keepalive_probes: 3, keepalive_time: 30, keepalive_interval: 10 }
      circuit_breakers: *unlimited

`;

/** What the service is told of a hosted upstream. */
const overrides = `overrides:
                                grpc_initial_metadata:
                                  - { key: x-upstream-profile, value: openai }
                                  # Where it is not /v1/chat/completions:
                                  # - { key: x-upstream-path, value: /openai/v1/chat/completions }
`;

const recipes: Readonly<Record<string, () => string>> = {
  'envoy/recipes/hosted.yaml': () =>
    edited([
      [
        /^(?:#.*\n)+/,
        `# Envoy in front of a hosted Chat Completions API, with responses-extproc as external processor: envoy/envoy.yaml with TLS to the
# provider, its key, its Host and its profile. Written by npm run generate.
#
# Replace api.example.com and the profile, and start it with the key: \`PROVIDER_API_KEY=sk-… npm run envoy -- -c envoy/recipes/hosted.yaml\`. The
# service is expected on 127.0.0.1:50051. Lines that begin with \`#:\` are off and can be switched on as they are.
`,
      ],
      [/^static_resources:\n/m, secrets],
      [/^ {4}- name: chat\n[\s\S]*?(?=^ {4}# Where tracing is on)/m, hostedCluster('chat')],
      [/( {28}cluster: chat\n)/, '$1                            host_rewrite_literal: api.example.com\n'],
      [
        /(?: {30}# Routes can lead[^\n]*\n)(?: {30}#[^\n]*\n)+ {30}overrides: \{\}\n/,
        `                              ${overrides}`,
      ],
    ]),
  'envoy/recipes/route-by-model.yaml': () =>
    edited([
      [
        /^(?:#.*\n)+/,
        `# Envoy in front of two Chat Completions servers, with responses-extproc as external processor; the model of a request chooses:
# gpt-… goes to a hosted API with its own key and profile, every other to the server on 127.0.0.1:8080. envoy/envoy.yaml with a filter
# before the service's, two routes and a cluster more. Written by npm run generate.
#
# Replace api.example.com, gpt- and the profile, and start it with the key:
# \`PROVIDER_API_KEY=sk-… npm run envoy -- -c envoy/recipes/route-by-model.yaml\`. The service is expected on 127.0.0.1:50051. Lines that begin
# with \`#:\` are off and can be switched on as they are.
`,
      ],
      [/^static_resources:\n/m, secrets],
      [/^( {18}- name: envoy\.filters\.http\.ext_proc\n)/m, `${luaFilter()}$1`],
      [identity, identity.replace(']', ', x-gateway-model-name]')],
      [/^( {24}- name: responses\n)/m, `${modelRoutes}$1`],
      [
        /^( {26}typed_per_filter_config: &translate\n)/m,
        '$1                            envoy.filters.http.lua: *by_model\n',
      ],
      [
        /^( {24}- name: untouched_chat\n(?: {26}[^\n]*\n)+)/m,
        `$1                          request_body_buffer_limit: 83886080
                          typed_per_filter_config: { envoy.filters.http.lua: *by_model }
`,
      ],
      [/^( {4}- name: chat\n)/m, `${hostedCluster('hosted')}$1`],
    ]),
};

const modelRoutes = `                        # By model: a name alone with \`exact\`, several with \`safe_regex\`. Each such route turns on the same filters as the
                        # route that a request without a model takes: Envoy chooses filters once, before it knows the model.
                        - name: responses_hosted
                          match:
                            path_separated_prefix: /v1/responses
                            headers: &for_hosted [{ name: x-gateway-model-name, string_match: { prefix: gpt- } }]
                          route: &hosted
                            cluster: hosted
                            host_rewrite_literal: api.example.com
                            timeout: 0s
                            idle_timeout: 900s
                            retry_policy: { retry_on: "connect-failure,refused-stream,reset-before-request", num_retries: 2 }
                          request_body_buffer_limit: 83886080
                          typed_per_filter_config:
                            envoy.filters.http.lua: &by_model
                              "@type": type.googleapis.com/envoy.config.route.v3.FilterConfig
                              config: {}
                            envoy.filters.http.ext_proc:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute
                              ${overrides}                        - name: untouched_chat_hosted
                          match: { path_separated_prefix: /v1/chat/completions, headers: *for_hosted }
                          route: *hosted
                          request_body_buffer_limit: 83886080
                          typed_per_filter_config: { envoy.filters.http.lua: *by_model }
`;

/** The filter that reads the model, from the script that the chart has too. */
function luaFilter(): string {
  const indented = textOf('envoy/recipes/route-by-model.lua').replaceAll(/^(?=.)/gm, ' '.repeat(26));
  return `                  - name: envoy.filters.http.lua
                    disabled: true # the routes that may lead to more than one upstream turn it on
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
                      default_source_code:
                        inline_string: |
${indented}`;
}

/** `envoy/envoy.yaml` with these replacements, in which `$1` is what the group has found. Throws where one finds nothing to replace. */
function edited(replacements: readonly (readonly [RegExp | string, string])[]): string {
  return replacements.reduce((text, [found, replacement]) => {
    // Not as a string: the script of the filter contains other `$`.
    const after = text.replace(found, (_match, kept) => replacement.replaceAll('$1', () => String(kept)));
    if (after === text) throw new Error(`envoy/envoy.yaml has no ${found}`);
    return after;
  }, textOf('envoy/envoy.yaml'));
}

export const envoyRecipes: Generator = {
  name: 'recipes for Envoy',
  source: 'envoy/envoy.yaml',
  files: () => Object.fromEntries(Object.entries(recipes).map(([path, text]) => [path, text()])),
};
