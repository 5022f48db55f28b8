import * as z from 'zod';
import type { BodyMode } from '../exchange/types.ts';
import { profileNames, profileOf } from '../upstream/profiles.ts';

const MiB = 1024 * 1024;

// Making schemas is a good part of a start: what they share is made once.
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const wholeNumber = z.string().regex(/^\d+$/, 'must be a whole number').transform(Number);
const count = (least: number, most: number) =>
  wholeNumber.refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`);
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== ''),
);
const bodyMode = z.enum([
  'NONE',
  'BUFFERED',
  'STREAMED',
  'BUFFERED_PARTIAL',
  'FULL_DUPLEX_STREAMED',
]) satisfies z.ZodType<BodyMode>;
function areAddresses(text: string): boolean {
  return text
    .split(',')
    .map((address) => address.trim())
    .every((address) => /^unix:.+/.test(address) || isHostAndPort(address.replaceAll('{worker}', '1')));
}
/** `HOST:PORT` or `[IPV6]:PORT`, with a port that there is. */
function isHostAndPort(text: string): boolean {
  const port = /^(?:\[[\da-f:]+\]|[^\s:/]+):(\d{1,5})$/i.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}
const anyText = z.string();
const path = z.string().startsWith('/', 'must be a path that starts with /');

/** Every variable: how it is parsed, its default as text, its meaning. The table in the docs is generated from this. */
const variables = {
  LISTEN: variable(
    z.string().refine(areAddresses, 'must be HOST:PORT or unix:/path, or several with commas, with a port up to 65535'),
    '0.0.0.0:50051',
    'Address of the gRPC server: `HOST:PORT`, `unix:/path`, or several separated by commas. `{worker}` is replaced by the worker’s number, to give each worker its own address.',
  ),
  ADMIN_LISTEN: variable(
    z
      .string()
      .refine((text) => text === 'off' || isHostAndPort(text), 'must be HOST:PORT with a port up to 65535, or off'),
    '127.0.0.1:9090',
    'Address of the admin server (probes, metrics), `HOST:PORT`; `off` disables it.',
  ),
  INSPECT: variable(
    z.enum(['on', 'off']),
    'off',
    'The inspector, a page at `/inspect` of the admin port that shows requests and answers **with their contents** (docs/inspector.md).',
  ),
  INSPECT_SEND_TO: variable(
    z.url({ protocol: /^https?$/ }).or(z.literal('')),
    '',
    'Base URL of the proxy, such as `http://127.0.0.1:10000/v1`, for the inspector’s form that sends a request; without it the form shows a command to copy.',
  ),
  LOG_LEVEL: variable(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info', 'Minimum log level.'),
  UPSTREAM_PROFILE: variable(
    z.string().min(1),
    'generic',
    'Kind of Chat Completions server upstream; a route overrides it with the gRPC metadata `x-upstream-profile`.',
  ),
  UPSTREAM_PROFILES_FILE: variable(
    anyText,
    '',
    'File with profiles of your own, YAML or JSON (“Profiles of your own” in docs/upstreams.md); read again when it changes.',
  ),
  UPSTREAM_PATH: variable(
    path.or(z.literal('')),
    '',
    'Path of the upstream’s Chat Completions endpoint; the profile’s own when unset. `{model}` is replaced by the model’s name. A route overrides it with `x-upstream-path`.',
  ),
  SESSION_HEADER: variable(
    z
      .string()
      .regex(
        /^(?!x-envoy-|host$|accept|authorization$|content-)[a-z][a-z0-9-]*$|^$/,
        'must be the name of a header in lower case, and not one of Envoy’s or of the body’s',
      ),
    '',
    'Request header that is set from `prompt_cache_key`, for Envoy’s consistent hashing (envoy/README.md): one conversation, one upstream, one warm cache. In request body modes that send the headers before the body it cannot be set.',
  ),
  DEFAULT_MODEL: variable(anyText, '', 'Model for requests that name none; when unset they are refused.'),
  REQUEST_BODY_MODE: variable(
    bodyMode,
    'BUFFERED',
    'Request body mode when the proxy does not send `protocol_config`.',
  ),
  RESPONSE_BODY_MODE: variable(
    bodyMode,
    'FULL_DUPLEX_STREAMED',
    'Response body mode when the proxy does not send `protocol_config`.',
  ),
  OMITTED_STORE: variable(
    z.enum(['accept', 'reject']),
    'accept',
    'A request without `store`: accept it as `store: false`, or reject it.',
  ),
  REASONING_EVENTS: variable(
    z.enum(['summary', 'reasoning_text', 'reasoning']),
    'summary',
    'Events that carry the upstream’s reasoning text.',
  ),
  DROPPED_TOOLS: variable(
    list,
    'web_search,web_search_preview,image_generation',
    'Hosted tool types that are dropped and named in `x-responses-dropped` instead of being refused.',
  ),
  UNSUPPORTED_ITEMS: variable(
    z.enum(['reject', 'drop']),
    'drop',
    'Finished items of hosted tools in `input`: keep their text and name the rest as dropped, or reject the request.',
  ),
  UNKNOWN_ITEMS: variable(
    z.enum(['text', 'drop', 'reject']),
    'text',
    'Items and content parts of a type this version does not know: keep their text and name the rest as dropped, drop them whole, or reject the request.',
  ),
  CONTEXT_MANAGEMENT: variable(
    z.enum(['accept', 'reject']),
    'accept',
    'The field `context_management`: run the request and name the field as dropped, or reject it.',
  ),
  ORPHAN_OUTPUTS: variable(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool output without its call: reject the request, or synthesize the call.',
  ),
  MISSING_OUTPUTS: variable(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool call without its output: reject the request, or synthesize the output `aborted`.',
  ),
  FOREIGN_COMPACTION: variable(
    z.enum(['drop', 'reject']),
    'drop',
    'A `compaction` item that another server made: drop it and name it, or reject the request.',
  ),
  COMPACTION_PROMPT_FILE: variable(
    anyText,
    '',
    'File with what the model is asked for when a client compacts its conversation (UTF-8, at most 64 KiB); a text of our own when unset. Read at start.',
  ),
  COMPACTION_MAX_TOKENS: variable(
    count(1, 10_000_000),
    '8192',
    'Maximum tokens of such a summary; a smaller `max_output_tokens` of the request counts instead.',
  ),
  MODEL_CONTEXT_WINDOW: variable(
    count(0, 1_000_000_000),
    '0',
    'Tokens of the upstream’s context window: a conversation is shortened to it before it is compacted, and the catalog for Codex has it for models whose server says nothing; 0 is unknown.',
  ),
  MODEL_CATALOG_FILE: variable(
    anyText,
    '',
    'JSON file with fields of the catalog for Codex by model, and under `*` for all: `{"qwen3": {"context_window": 32768}}`. Read at start.',
  ),
  CATALOG_INSTRUCTIONS_FILE: variable(
    anyText,
    '',
    'File with the system prompt that the catalog gives Codex in place of its own (UTF-8, at most 64 KiB); a text of our own when unset. Read at start.',
  ),
  UNKNOWN_FIELDS: variable(z.enum(['forward', 'reject', 'ignore']), 'forward', 'Unknown top-level request fields.'),
  STRICT_ECHO: variable(
    flag,
    'false',
    'Echo only values that the published schema allows (`schema: null`, no `minimal` effort).',
  ),
  MAX_REQUEST_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Maximum request body after decompression; a larger one is refused with 413.',
  ),
  MAX_REQUEST_VALUES: variable(
    count(1000, 100_000_000),
    '100000',
    'Maximum number of JSON values in a request body, which its CPU time grows with; more are refused with 413.',
  ),
  MAX_INPUT_ITEMS: variable(count(1, 10_000_000), '10000', 'Maximum number of items in `input`.'),
  MAX_TEXT_BYTES: variable(count(1, 2 ** 31 - 1), String(10 * MiB), 'Maximum size of one text part.'),
  MAX_IMAGE_URL_BYTES: variable(
    count(1, 2 ** 31 - 1),
    String(20 * MiB),
    'Maximum length of one image URL, including data URLs.',
  ),
  MAX_FILE_BYTES: variable(count(1, 2 ** 31 - 1), String(32 * MiB), 'Maximum size of one `file_data`.'),
  MAX_TOOLS: variable(
    count(1, 100_000),
    '512',
    'Maximum number of tools in a request, including those inside namespaces.',
  ),
  MAX_NESTING: variable(count(4, 1000), '64', 'Maximum nesting of objects and arrays in the request body.'),
  MAX_RESPONSE_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Maximum upstream JSON body after decompression, or memory that the output of a stream takes; a larger one is a 502, or ends the stream with `response.failed`.',
  ),
  MAX_ERROR_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(1 * MiB),
    'How much of an upstream error body is read; the rest is ignored.',
  ),
  MAX_SSE_EVENT_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(8 * MiB),
    'Maximum size of one upstream SSE event; a larger one ends the response with `response.failed`.',
  ),
  UPSTREAM_IDLE_TIMEOUT_MS: variable(
    count(0, 86_400_000),
    '300000',
    'Idle timeout of the upstream; then the response ends with `upstream_timeout`. 0 disables it.',
  ),
  HEARTBEAT_INTERVAL_MS: variable(
    count(0, 3_600_000),
    '0',
    'Idle time after which an SSE comment is sent to the client; 0 disables it.',
  ),
  FINISH_GRACE_MS: variable(
    count(0, 60_000),
    '2000',
    'How long an upstream may keep its stream open after the finish reason.',
  ),
  DRAIN_DELAY_MS: variable(
    count(0, 600_000),
    '7000',
    'How long new calls are still accepted after SIGTERM while health reports NOT_SERVING, so that every proxy notices (two health checks of `envoy.yaml`).',
  ),
  DRAIN_TIMEOUT_MS: variable(count(0, 86_400_000), '600000', 'How long running streams may continue after that.'),
  MAX_EXCHANGES: variable(
    count(0, 10_000_000),
    '20000',
    'Maximum concurrent exchanges per process; more are refused with 503 and `retry-after`. 0 disables the limit.',
  ),
  MAX_BUFFERED_BYTES: variable(
    count(0, 2 ** 40),
    String(1024 * MiB),
    'Maximum buffered bytes of bodies per process; more are refused with 503. 0 disables the limit.',
  ),
  WEBSOCKET_LISTEN: variable(
    z
      .string()
      .refine((text) => text === '' || /^unix:.+/.test(text) || isHostAndPort(text), 'must be HOST:PORT or unix:/path'),
    '',
    'Address of the listener for WebSockets, `HOST:PORT` or `unix:/path`, to which Envoy routes upgrades of `/v1/responses` (docs/operating.md); unset, they get a 426.',
  ),
  WEBSOCKET_FORWARD_TO: variable(
    z.url({ protocol: /^https?$/ }).or(z.literal('')),
    '',
    'Base URL of the proxy, such as `http://127.0.0.1:10000/v1`, to which each turn on a WebSocket is sent as `POST …/responses`.',
  ),
  WEBSOCKET_ORIGINS: variable(
    list,
    '',
    'Origins from which pages in a browser may open a WebSocket, `https://app.example` or `*` for all; by default none may.',
  ),
  WEBSOCKET_MAX_CONNECTIONS: variable(
    count(1, 1_000_000),
    '10000',
    'Maximum open WebSockets per process; more are refused with 503.',
  ),
  WEBSOCKET_MAX_LANES: variable(
    count(1, 10_000),
    '16',
    'Maximum lanes (`stream_id`) of a WebSocket, which is how many of its turns run at once.',
  ),
  WEBSOCKET_MAX_WAITING: variable(
    count(0, 10_000),
    '32',
    'Maximum turns of a WebSocket that wait for others; more are refused with an error 429.',
  ),
  WEBSOCKET_LIFETIME_MS: variable(
    count(1000, 86_400_000),
    '3600000',
    'How long a WebSocket may live; then it ends after the running turn.',
  ),
  WEBSOCKET_PING_INTERVAL_MS: variable(
    count(100, 3_600_000),
    '30000',
    'Time between two pings of a WebSocket; a client that answers none until the next is disconnected.',
  ),
  WEBSOCKET_WRITE_TIMEOUT_MS: variable(
    count(100, 3_600_000),
    '60000',
    'How long the client of a WebSocket may read nothing of what waits for it before it is disconnected.',
  ),
  WORKERS: variable(count(1, 256), '1', 'Number of worker processes.'),
  TLS_CERT_FILE: variable(anyText, '', 'PEM certificate chain of the gRPC server; reloaded when it changes.'),
  TLS_KEY_FILE: variable(anyText, '', 'PEM private key of that certificate.'),
  TLS_CLIENT_CA_FILE: variable(
    anyText,
    '',
    'PEM certificate authorities; when set, clients need a certificate issued by one of them (mTLS).',
  ),
  METRICS_MAX_MODELS: variable(
    count(0, 10_000),
    '50',
    'Maximum number of models with their own label in the metrics; the rest count as `other`.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    z.url().or(z.literal('')),
    '',
    'OTLP/HTTP endpoint for traces; tracing is off when unset.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variable(
    z.url().or(z.literal('')),
    '',
    'The same for traces alone, with its whole path: `/v1/traces` is not appended.',
  ),
  OTEL_TRACES_SAMPLER_ARG: variable(
    z
      .string()
      .regex(/^(0|1|[01]?\.\d+)$/, 'must be a number from 0 to 1')
      .transform(Number)
      .refine((share) => share <= 1, 'must be a number from 0 to 1'),
    '1',
    'Sampling ratio of traces that start here; a caller’s own sampling decision is kept.',
  ),
  OTEL_BSP_SCHEDULE_DELAY: variable(count(1, 600_000), '1000', 'Milliseconds between two exports of spans.'),
  OTEL_SERVICE_NAME: variable(z.string().min(1), 'responses-extproc', 'Service name in traces.'),
};

export type Config = { readonly [Name in keyof typeof variables]: z.output<(typeof variables)[Name]['schema']> };

/** Parses the environment. Throws `ConfigError` naming every invalid variable. Unknown variables are ignored. */
export function readConfig(given: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, { schema, fallback }] of Object.entries(variables)) {
    const text = given[name];
    const parsed = schema.safeParse(text === undefined || text === '' ? fallback : text);
    if (parsed.success) config[name] = parsed.data;
    else problems.push(`${name}: ${parsed.error.issues.map(({ message }) => message).join('; ')}${gotOf(text)}`);
  }
  // Each variable has been through the schema of its name.
  const valid = config as Config;
  if (problems.length === 0) problems.push(...contradictions(valid));
  if (problems.length > 0) throw new ConfigError(problems);
  return valid;
}

/** What is wrong with variables that are valid one by one. */
function contradictions(config: Config): string[] {
  const found: string[] = [];
  if (config.UPSTREAM_PROFILES_FILE === '' && profileOf(config.UPSTREAM_PROFILE) === undefined)
    found.push(
      `UPSTREAM_PROFILE: must be one of ${profileNames.join(', ')}, or a profile of UPSTREAM_PROFILES_FILE${gotOf(config.UPSTREAM_PROFILE)}`,
    );
  if ((config.TLS_CERT_FILE === '') !== (config.TLS_KEY_FILE === ''))
    found.push('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  if (config.WEBSOCKET_LISTEN !== '' && config.WEBSOCKET_FORWARD_TO === '')
    found.push('WEBSOCKET_LISTEN: needs WEBSOCKET_FORWARD_TO, the URL of the proxy');
  if (config.INSPECT === 'on' && config.ADMIN_LISTEN === 'off')
    found.push('INSPECT: is a page of the admin port, which ADMIN_LISTEN disables (got "on")');
  if (config.TLS_CLIENT_CA_FILE !== '' && config.TLS_CERT_FILE === '')
    found.push(`TLS_CLIENT_CA_FILE: needs TLS_CERT_FILE and TLS_KEY_FILE${gotOf(config.TLS_CLIENT_CA_FILE)}`);
  return found;
}

/** The configuration fit for display: user names and passwords in URLs are redacted. */
export function redactConfig(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace(/^(\w+:\/\/)[^/@]*@/, '$1…@') : value,
    ]),
  );
}

/** Names every invalid variable, one per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `Configuration: ${problem}`).join('\n'));
  }
}

/** Rows of the documentation's table: name, default, meaning. */
export function describeVariables(): readonly { name: string; fallback: string; meaning: string }[] {
  return Object.entries(variables).map(([name, { fallback, meaning }]) => ({ name, fallback, meaning }));
}

interface Variable<Schema extends z.ZodType> {
  readonly schema: Schema;
  /** Its text when it is unset or empty. */
  readonly fallback: string;
  readonly meaning: string;
}

function variable<Schema extends z.ZodType>(schema: Schema, fallback: string, meaning: string): Variable<Schema> {
  return { schema, fallback, meaning };
}

/** The given value for the message, unless it may contain a password. */
function gotOf(text: string | undefined): string {
  return text === undefined || text.includes('@') ? '' : ` (got ${JSON.stringify(text)})`;
}
