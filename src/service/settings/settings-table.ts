import type { ExchangeSettings, OperatorSettings } from '../../filter/index.ts';
import { objectOf, objectsOf } from '../../formats/json/loose.ts';
import { anyText, choice, count, filePath, flag, limit, list, milliseconds, path, share, text, url } from './form.ts';
import { defaultCatalogInstructions, defaultCompactionPrompt, readCatalog } from './operator-texts.ts';
import { optional, readContent, setting, type TableOf } from './setting.ts';

const MiB = 1024 * 1024;
const mostBytes = 2 ** 31 - 1;

/** Is it `HOST:PORT` or `[IPV6]:PORT`, with a port that exists? */
function isHostAndPort(given: string): boolean {
  const port = /^(?:\[[\da-f:]+\]|[^\s:/]+):(\d{1,5})$/i.exec(given)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}

const addresses = text('HOST:PORT or unix:/path, or several with commas, with a port up to 65535', (given) =>
  given
    .split(',')
    .map((address) => address.trim())
    .every((address) => /^unix:.+/.test(address) || isHostAndPort(address.replaceAll('{worker}', '1'))),
);
const optionalAddress = text(
  'HOST:PORT or unix:/path',
  (given) => given === '' || /^unix:.+/.test(given) || isHostAndPort(given),
);
const address = text('HOST:PORT with a port up to 65535, or off', (given) => given === 'off' || isHostAndPort(given));

const hostNames = {
  ...list,
  takes: 'names of hosts without ports, separated by commas',
  read(given: string) {
    const names = list.read(given.toLowerCase());
    return names?.every((name) => /^[a-z\d_](?:[a-z\d_.-]*[a-z\d_])?$/.test(name)) ? names : undefined;
  },
};

/** Settings of the process: its addresses, limits, log and end. */
const ofProcess = [
  setting('LISTEN', addresses, '0.0.0.0:50051', {
    meaning:
      'Address of the gRPC server: `HOST:PORT`, `unix:/path`, or several separated by commas. `{worker}` stands for the worker’s number.',
    setBy: 'every installation whose Envoy reaches the service elsewhere',
  }),
  setting('ADMIN_LISTEN', address, '127.0.0.1:9090', {
    meaning: 'Address of the admin server (probes, metrics), `HOST:PORT`; `off` disables it.',
    setBy: 'every container: probes and Prometheus come from outside',
  }),
  setting('ADMIN_HOSTS', hostNames, '', {
    meaning:
      'Names of the admin server (`Host`), separated by commas, besides IP addresses, `localhost` and the name in `ADMIN_LISTEN`; others are refused with 403 (DNS rebinding).',
    setBy: 'whoever opens the inspector by a name (docs/inspector.md)',
  }),
  setting('INSPECT', choice('on', 'off'), 'off', {
    meaning:
      'The inspector, a page at `/inspect` of the admin port that shows requests and answers **with their contents**. Needs `WORKERS=1`.',
    setBy: 'whoever looks into requests and answers (docs/inspector.md)',
  }),
  setting('INSPECT_SEND_TO', url, '', {
    meaning:
      'Base URL of the proxy, such as `http://127.0.0.1:10000/v1`, for the inspector’s form that sends a request.',
    setBy: 'whoever tries requests on the inspector’s page (docs/inspector.md)',
  }),
  setting('LOG_LEVEL', choice('trace', 'debug', 'info', 'warn', 'error', 'silent'), 'info', {
    meaning: 'Minimum log level.',
    setBy: 'an incident, or a quiet log',
  }),
  setting('WORKERS', count(1, 256), '1', {
    meaning: 'Number of worker processes.',
    setBy: 'a host of several cores without Kubernetes (docs/scaling.md)',
  }),
  setting('MAX_EXCHANGES', limit(0, 10_000_000), '20000', {
    meaning: 'Maximum concurrent exchanges per process; more get a 503 with `retry-after`. 0 disables the limit.',
    setBy: 'other sizes of containers than the chart’s (docs/operating.md)',
  }),
  setting('MAX_BUFFERED_BYTES', limit(0, 2 ** 40), String(1024 * MiB), {
    meaning: 'Maximum buffered bytes of bodies per process; more get a 503. 0 disables the limit.',
    setBy: 'other sizes of containers than the chart’s (docs/operating.md)',
  }),
  setting('DRAIN_DELAY_MS', milliseconds(0, 600_000), '7000', {
    meaning:
      'How long new calls are still accepted after SIGTERM while health reports NOT_SERVING: two health checks of `envoy.yaml`.',
    setBy: 'an Envoy with other health checks (docs/operating.md)',
  }),
  setting('DRAIN_TIMEOUT_MS', milliseconds(0, 86_400_000), '600000', {
    meaning: 'How long running streams may continue after `DRAIN_DELAY_MS`.',
    setBy: 'streams that are longer, or an orchestrator that waits less (docs/operating.md)',
  }),
  setting('TLS_CERT_FILE', filePath, '', {
    meaning: 'PEM certificate chain of the gRPC server; reloaded when it changes.',
    setBy: 'an Envoy on another host (docs/operating.md)',
  }),
  setting('TLS_KEY_FILE', filePath, '', {
    meaning: 'PEM private key of the certificate in `TLS_CERT_FILE`.',
    setBy: 'an Envoy on another host (docs/operating.md)',
  }),
  setting('TLS_CLIENT_CA_FILE', filePath, '', {
    meaning: 'PEM certificate authorities of the clients (mTLS).',
    setBy: 'a network that others can reach (docs/operating.md)',
  }),
  setting('OTEL_EXPORTER_OTLP_ENDPOINT', url, '', {
    meaning: 'OTLP/HTTP endpoint for traces; tracing is off when unset.',
    setBy: 'whoever traces (docs/watching.md)',
  }),
  setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', url, '', {
    meaning: 'OTLP/HTTP endpoint for traces, to which `/v1/traces` is not appended.',
    setBy: 'a collector with another path; OpenTelemetry’s name for it',
  }),
  setting('OTEL_TRACES_SAMPLER_ARG', share, '1', {
    meaning: 'Sampling ratio of traces that start here; a caller’s decision is kept.',
    setBy: 'traffic of which some traces are enough; OpenTelemetry’s name for it',
  }),
  setting('OTEL_SERVICE_NAME', anyText, 'responses-extproc', {
    meaning: 'Service name in traces.',
    setBy: 'several installations with one collector; OpenTelemetry’s name for it',
  }),
];

const ofWebSocket = [
  setting('WEBSOCKET_LISTEN', optionalAddress, '', {
    meaning:
      'Address of the listener to which Envoy routes upgrades of `/v1/responses` (“WebSocket connections” in docs/operating.md), `HOST:PORT` or `unix:/path`; unset, they get a 426.',
    setBy: 'Codex and others over a WebSocket (docs/guides/codex-for-a-team.md)',
  }),
  setting('WEBSOCKET_FORWARD_TO', url, '', {
    meaning: 'Base URL of the proxy, to which each turn is sent as `POST …/responses`, over HTTP/2.',
    setBy: 'Codex and others over a WebSocket (docs/guides/codex-for-a-team.md)',
  }),
  setting('WEBSOCKET_ORIGINS', list, '', {
    meaning: 'Origins of pages that may open a WebSocket, `https://app.example`, or `*` for all; by default none may.',
    setBy: 'an application in a browser',
  }),
  setting('WEBSOCKET_MAX_CONNECTIONS', limit(1, 1_000_000), '10000', {
    meaning: 'Maximum open WebSockets per process; more get a 503.',
    setBy: 'other sizes of containers than the chart’s (docs/operating.md)',
  }),
  setting('WEBSOCKET_LIFETIME_MS', milliseconds(1000, 86_400_000), '3600000', {
    meaning: 'How long a WebSocket may stay open; then it closes once the running turn has ended.',
    setBy: 'a proxy that closes connections sooner (docs/operating.md)',
  }),
];

const profileName = text('the name of a profile', (given) => given !== '');
const ofUpstream = [
  setting('UPSTREAM_PROFILE', profileName, 'generic', {
    meaning: 'Kind of Chat Completions server upstream.',
    setBy: 'every installation (docs/upstreams.md)',
  }),
  setting('UPSTREAM_PROFILES_FILE', filePath, '', {
    meaning: 'File with profiles of your own (docs/upstreams.md); read again when it changes.',
    setBy: 'a server that no built-in profile fits (docs/upstreams.md)',
  }),
];

function readSecret(given: string): string | null {
  const secret = given.trim();
  if (secret.length < 16) throw new Error('it has fewer than 16 characters');
  return secret;
}

const headerName = text(
  'the name of a header in lower case, and not one of Envoy’s or of the body’s',
  (given) => /^(?!x-envoy-|host$|accept|authorization$|content-)[a-z][a-z0-9-]*$|^$/.test(given),
  { type: 'string', pattern: '^([a-z][a-z0-9-]*)?$' },
);
const reasoningEvents = choice('summary', 'summary_and_content', 'reasoning_text', 'reasoning');
const bodyMode = choice('NONE', 'BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED');

/** Settings of each exchange, by the names in `ExchangeOptions`. */
const ofExchange = {
  upstreamPath: optional('UPSTREAM_PATH', path, '', {
    meaning:
      'Path of the upstream’s Chat Completions endpoint, with `{model}` for the model’s name; the profile’s own when unset.',
    setBy: 'a server behind a prefix (docs/guides/hosted-provider.md)',
    others: () => [''],
  }),
  sessionHeader: optional('SESSION_HEADER', headerName, '', {
    meaning:
      'Request header that is set from `prompt_cache_key`, for Envoy’s consistent hashing (envoy/README.md); not in request body modes that send the headers before the body.',
    setBy: 'several replicas of a server with a prefix cache each (envoy/README.md)',
    others: (name) => [name === '' ? 'x-session' : ''],
  }),
  sessionHashKey: readContent('SESSION_HASH_KEY_FILE', {
    meaning:
      'File with a secret of 16 characters or more, the same for every replica: without a `prompt_cache_key`, `SESSION_HEADER` is a hash, under that secret, of the model, the instructions, the tools and the user’s first message.',
    setBy: 'clients that send no `prompt_cache_key`',
    file: { maxBytes: 4096, takes: 'a secret of 16 characters or more', read: readSecret, others: [null] },
    unset: null,
  }),
  modes: {
    request: setting('REQUEST_BODY_MODE', { ...bodyMode, others: [] }, 'BUFFERED', {
      meaning: 'Request body mode when the proxy does not send `protocol_config`.',
      setBy: 'a proxy that sends no `protocol_config` (docs/other-proxies.md)',
    }),
    response: setting('RESPONSE_BODY_MODE', { ...bodyMode, others: [] }, 'FULL_DUPLEX_STREAMED', {
      meaning: 'Response body mode when the proxy does not send `protocol_config`.',
      setBy: 'a proxy that sends no `protocol_config` (docs/other-proxies.md)',
    }),
  },
  bodyLimits: {
    maxRequestBytes: setting('MAX_REQUEST_BYTES', limit(1024, mostBytes), String(64 * MiB), {
      meaning: 'Maximum request body after decompression; a larger one gets a 413.',
      setBy: 'prompts with many images or files (docs/operating.md)',
    }),
    maxResponseBytes: setting('MAX_RESPONSE_BYTES', limit(1024, mostBytes), String(64 * MiB), {
      meaning:
        'Maximum upstream JSON body after decompression, or memory of a stream’s output; a larger one is a 502, or `response.failed`.',
      setBy: 'answers with sound or images (docs/operating.md)',
    }),
    maxErrorBytes: 1 * MiB,
    maxSseEventBytes: 8 * MiB,
  },
  stallTimeoutMs: setting('UPSTREAM_IDLE_TIMEOUT_MS', milliseconds(0, 86_400_000), '300000', {
    meaning:
      'Idle timeout of the upstream (`upstream_timeout`). Any bytes count as activity, also comments that only keep a connection alive. 0 disables it.',
    setBy: 'models that think for long without a word (docs/guides)',
  }),
  heartbeatMs: setting('HEARTBEAT_INTERVAL_MS', milliseconds(0, 3_600_000), '0', {
    meaning: 'Idle time after which an SSE comment is sent to the client; 0 disables it.',
    setBy: 'load balancers that close idle connections (docs/body-modes.md)',
  }),
} satisfies TableOf<ExchangeSettings>;

const contextWindow = optional('MODEL_CONTEXT_WINDOW', count(0, 1_000_000_000), 0, {
  meaning:
    'Tokens of the upstream’s context window, for compaction, and for the catalog for Codex where the server does not report it; 0 means unknown.',
  setBy: 'Codex, on a server that does not report it (docs/guides/codex-for-a-team.md)',
});

const prompt = { maxBytes: 64 * 1024, takes: 'text', read: (given: string) => given, others: ['Another text.'] };

/** Settings of the translation, by the names in `TranslationSettings`. */
const ofTranslation = {
  defaultModel: optional('DEFAULT_MODEL', anyText, '', {
    meaning: 'Model for requests that name none; when unset they are refused.',
    setBy: 'clients that name no model',
    others: () => ['a-model'],
  }),
  omittedStore: setting('OMITTED_STORE', choice('accept', 'reject'), 'accept', {
    meaning:
      'How to handle requests that omit `store`, whose default at OpenAI is true. `accept`: treat as `store: false`. `reject`: return 400.',
    setBy: 'whoever must not let a client believe that something is stored (docs/decisions/requirements.md)',
  }),
  reasoningEvents: setting('REASONING_EVENTS', reasoningEvents, 'summary', {
    meaning:
      'Events and fields that carry the upstream’s reasoning text. `summary`: summary events, and `summary` in the finished item. `summary_and_content`: the finished item has the text in `content` too, which OpenAI refuses in a history. `reasoning_text`, `reasoning`: events of that name, and `content` alone.',
    setBy: 'clients that read one kind of reasoning events (docs/clients.md)',
  }),
  reasoningAlone: setting('REASONING_ALONE', choice('completed', 'failed'), 'completed', {
    meaning:
      'An answer of reasoning and nothing else that ends normally: completed, as at OpenAI, or failed, so that agents try again.',
    setBy: 'an incident: agents that stop without a word',
  }),
  droppedTools: setting('DROPPED_TOOLS', list, 'web_search,web_search_preview,image_generation', {
    meaning: 'Hosted tool types that are dropped and listed instead of being refused.',
    setBy: 'whoever refuses hosted tools, or drops more of them (docs/guides)',
    others: (types, body) => [[], [...types, ...readToolTypes(body)]],
  }),
  unknownItems: setting('UNKNOWN_ITEMS', choice('text', 'drop', 'reject', 'extensions'), 'text', {
    meaning:
      'How to handle items, content parts and tools of an unknown type. `text`: keep their text and list the rest in `x-responses-dropped`. `drop`: drop them whole. `reject`: return 400, also for finished items of hosted tools, which are dropped otherwise. `extensions`: keep the text of types named `provider:type`, and reject other types.',
    setBy: 'provider extensions, or refusals in place of parts left out (docs/decisions/requirements.md)',
  }),
  orphanOutputs: setting('ORPHAN_OUTPUTS', choice('reject', 'synthesize'), 'reject', {
    meaning: 'A tool output without its call: reject the request, or synthesize the call.',
    setBy: 'agents that cut the beginning of their history',
  }),
  missingOutputs: setting('MISSING_OUTPUTS', choice('reject', 'synthesize'), 'reject', {
    meaning: 'A tool call without its output: reject the request, or synthesize the output `aborted`.',
    setBy: 'agents that were interrupted in a call',
  }),
  unknownFields: setting('UNKNOWN_FIELDS', choice('forward', 'reject', 'ignore'), 'forward', {
    meaning:
      'Unknown fields. `forward` passes on fields of the top level, and lists keys of other objects in `x-responses-dropped`. `reject` refuses both. `ignore` lists both.',
    setBy: 'a server that refuses fields it does not know, or clients that are tested',
  }),
  strictEcho: setting('STRICT_ECHO', flag, 'false', {
    meaning: 'Echo only values that the published schema allows (`schema: null`, no `minimal` effort).',
    setBy: 'clients that check the published schema (Open Responses’ own test)',
  }),
  compaction: {
    prompt: readContent('COMPACTION_PROMPT_FILE', {
      meaning: 'File with the prompt for the summary when a client compacts its conversation (UTF-8, at most 64 KiB).',
      setBy: 'a summary in other words or another language',
      file: prompt,
      unset: defaultCompactionPrompt,
    }),
    maxTokens: setting('COMPACTION_MAX_TOKENS', count(1, 10_000_000), '8192', {
      meaning: 'Maximum tokens of a compaction’s summary; a smaller `max_output_tokens` of the request counts instead.',
      setBy: 'a model that writes fewer tokens, or long sessions',
      others: (tokens) => [tokens + 1],
    }),
    contextWindow,
  },
  catalog: {
    contextWindow,
    overrides: readContent('MODEL_CATALOG_FILE', {
      meaning:
        'JSON file with fields of the catalog for Codex by model, and under `*` for all: `{"qwen3": {"context_window": 32768}}`. `base_instructions` is the system prompt that Codex takes.',
      setBy: 'Codex: a model’s window, efforts or system prompt (docs/clients.md)',
      file: {
        maxBytes: MiB,
        takes: 'a JSON object of models and their fields',
        read: readCatalog,
        others: [new Map([['*', { context_window: 1 }]])],
      },
      unset: readCatalog('{}'),
    }),
    // A model’s `base_instructions` in that file replaces it.
    instructions: defaultCatalogInstructions,
  },
  limits: {
    maxValues: setting('MAX_REQUEST_VALUES', limit(1000, 100_000_000), '100000', {
      meaning: 'Maximum JSON values in a request body; more get a 413.',
      setBy: 'very long histories (docs/operating.md)',
    }),
    maxItems: setting('MAX_INPUT_ITEMS', limit(1, 10_000_000), '10000', {
      meaning: 'Maximum items in `input`.',
      setBy: 'very long histories, or a smaller limit (docs/decisions/requirements.md)',
    }),
    maxTextBytes: setting('MAX_TEXT_BYTES', limit(1, mostBytes), String(10 * MiB), {
      meaning: 'Maximum size of one text part, in bytes of UTF-8.',
      setBy: 'larger or smaller parts (docs/decisions/requirements.md)',
    }),
    maxFileBytes: setting('MAX_FILE_BYTES', limit(1, mostBytes), String(32 * MiB), {
      meaning: 'Maximum size of one image, file, sound or video, as it is sent: base64, or a URL.',
      setBy: 'larger or smaller images, files, sounds and videos (docs/decisions/requirements.md)',
    }),
    maxTools: setting('MAX_TOOLS', limit(1, 100_000), '512', {
      meaning: 'Maximum tools in a request, including those inside namespaces.',
      setBy: 'agents with more tools of MCP servers',
    }),
    maxNesting: 64,
  },
} satisfies TableOf<OperatorSettings>;

/** All settings. Whatever else names settings is made from this. */
export const settings = {
  process: ofProcess,
  upstream: ofUpstream,
  exchange: ofExchange,
  translation: ofTranslation,
  webSocket: ofWebSocket,
};

function readToolTypes(body: unknown): string[] {
  const { tools } = objectOf<{ tools?: unknown }>(body) ?? {};
  return objectsOf<{ type?: unknown }>(tools).flatMap(({ type }) => (typeof type === 'string' ? [type] : []));
}
