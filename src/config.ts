import { z } from 'zod';
import type { BodyMode } from './exchange/types.ts';
import { profileNames, profileOf } from './upstream/profiles.ts';

const MiB = 1024 * 1024;

/** An environment variable: text in, value out; `''` counts as unset. */
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const count = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`);
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
    .every((address) => /^(unix:.+|(\[[\da-f:]+\]|[^\s:/]+):(\d|\{worker\}){1,5})$/i.test(address.trim()));
}
const path = z.string().startsWith('/', 'must be a path that starts with /');

/** Every variable: how it is read, its default as text, what it means. The README's table is made from this. */
const variables = z.object({
  LISTEN: variable(
    z.string().refine(areAddresses, 'must be HOST:PORT or unix:/path, or several with commas'),
    '0.0.0.0:50051',
    'Where gRPC listens: `HOST:PORT`, `unix:/path`, or several with commas. `{worker}` is the number of the worker, where each is to have an address of its own.',
  ),
  ADMIN_LISTEN: variable(
    z.string().min(1),
    '127.0.0.1:9090',
    'Where probes and metrics listen, `HOST:PORT`; `off` for none.',
  ),
  LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Least level that is logged.',
  ),
  UPSTREAM_PROFILE: variable(
    z.string().min(1),
    'generic',
    'What kind of Chat server is behind; a route overrides it with the gRPC metadata `x-upstream-profile`.',
  ),
  UPSTREAM_PROFILES_FILE: variable(
    z.string(),
    '',
    'File with profiles of your own, YAML or JSON (“Profiles of your own” in docs/upstreams.md); read again when it changes.',
  ),
  UPSTREAM_PATH: variable(
    path.or(z.literal('')),
    '',
    'Path of the upstream’s Chat endpoint, when the profile’s own is not right; `{model}` is filled in. A route overrides it with `x-upstream-path`.',
  ),
  DEFAULT_MODEL: variable(z.string(), '', 'Model of requests that name none; unset refuses them.'),
  REQUEST_BODY_MODE: variable(bodyMode, 'BUFFERED', 'Mode assumed when the proxy does not send `protocol_config`.'),
  RESPONSE_BODY_MODE: variable(bodyMode, 'FULL_DUPLEX_STREAMED', 'Likewise for the response.'),
  OMITTED_STORE: variable(
    z.enum(['accept', 'reject']),
    'accept',
    'A request without `store`: run it and say `store: false`, or refuse it.',
  ),
  REASONING_EVENTS: variable(
    z.enum(['summary', 'reasoning_text', 'reasoning']),
    'summary',
    'Which events carry the upstream’s reasoning text.',
  ),
  DROPPED_TOOLS: variable(
    list,
    'web_search,web_search_preview',
    'Hosted tool types that are left out and named in `x-responses-dropped` instead of refused.',
  ),
  UNSUPPORTED_ITEMS: variable(
    z.enum(['reject', 'drop']),
    'reject',
    'Input items of hosted tools: refuse, or leave out with their outputs.',
  ),
  ORPHAN_OUTPUTS: variable(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool output without its call: refuse, or make up the call.',
  ),
  MISSING_OUTPUTS: variable(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool call without its output: refuse, or answer it with `aborted`.',
  ),
  UNKNOWN_FIELDS: variable(
    z.enum(['forward', 'reject', 'ignore']),
    'forward',
    'Top-level request fields nobody knows.',
  ),
  STRICT_ECHO: variable(
    flag,
    'false',
    'Echo only what the published schema allows (`schema: null`, no `minimal` effort).',
  ),
  MAX_REQUEST_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Request body after decompression; more is a 413.',
  ),
  MAX_INPUT_ITEMS: variable(count(1, 10_000_000), '10000', 'Items in `input`.'),
  MAX_TEXT_BYTES: variable(count(1, 2 ** 31 - 1), String(10 * MiB), 'One text part.'),
  MAX_IMAGE_URL_BYTES: variable(count(1, 2 ** 31 - 1), String(20 * MiB), 'One image URL, data URLs included.'),
  MAX_FILE_BYTES: variable(count(1, 2 ** 31 - 1), String(32 * MiB), 'One `file_data`.'),
  MAX_TOOLS: variable(count(1, 100_000), '512', 'Tools in a request, those inside namespaces counted.'),
  MAX_NESTING: variable(count(4, 1000), '64', 'Levels of objects and arrays in the request body.'),
  MAX_RESPONSE_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Upstream JSON answer after decompression, or the output of a stream; more is a 502, or ends the stream with `response.failed`.',
  ),
  MAX_ERROR_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(1 * MiB),
    'Upstream error body that is read; the rest is ignored.',
  ),
  MAX_SSE_EVENT_BYTES: variable(
    count(1024, 2 ** 31 - 1),
    String(8 * MiB),
    'One upstream SSE event; more ends the response with `response.failed`.',
  ),
  UPSTREAM_IDLE_TIMEOUT_MS: variable(
    count(0, 86_400_000),
    '300000',
    'Silence of the upstream after which the answer ends with `upstream_timeout`; 0 waits for ever.',
  ),
  HEARTBEAT_INTERVAL_MS: variable(
    count(0, 3_600_000),
    '0',
    'Silence after which an SSE comment is sent to the client; 0 for none.',
  ),
  FINISH_GRACE_MS: variable(
    count(0, 60_000),
    '2000',
    'How long an upstream may keep its stream open after the finish reason.',
  ),
  DRAIN_DELAY_MS: variable(
    count(0, 600_000),
    '7000',
    'How long new calls are still taken after SIGTERM, while health says NOT_SERVING: until every proxy has noticed (two checks of `envoy.yaml`).',
  ),
  DRAIN_TIMEOUT_MS: variable(count(0, 86_400_000), '600000', 'How long running streams may go on after that.'),
  MAX_EXCHANGES: variable(
    count(0, 10_000_000),
    '20000',
    'Exchanges at once in one process; beyond it a 503 with `retry-after`; 0 for no limit.',
  ),
  MAX_BUFFERED_BYTES: variable(
    count(0, 2 ** 40),
    String(1024 * MiB),
    'Bytes of bodies held at once in one process; beyond it a 503; 0 for no limit.',
  ),
  WORKERS: variable(count(1, 256), '1', 'Processes that share the listener.'),
  TLS_CERT_FILE: variable(z.string(), '', 'PEM certificate chain for the gRPC port; read again when it changes.'),
  TLS_KEY_FILE: variable(z.string(), '', 'PEM key of that certificate.'),
  TLS_CLIENT_CA_FILE: variable(z.string(), '', 'PEM authorities whose client certificates are required (mTLS).'),
  METRICS_MAX_MODELS: variable(
    count(0, 10_000),
    '50',
    'Models with a label of their own in the metrics; the rest count as `other`.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    z.url().or(z.literal('')),
    '',
    'OTLP/HTTP endpoint for traces; unset means none.',
  ),
  OTEL_TRACES_SAMPLER_ARG: variable(
    z
      .string()
      .regex(/^(0|1|[01]?\.\d+)$/, 'must be a number from 0 to 1')
      .transform(Number)
      .refine((share) => share <= 1, 'must be a number from 0 to 1'),
    '1',
    'Share of the traces that begin here which are recorded; a caller’s own decision is kept.',
  ),
  OTEL_SERVICE_NAME: variable(z.string().min(1), 'responses-extproc', 'Service name in traces.'),
});

const environment = variables.superRefine((config, context) => {
  if (config.UPSTREAM_PROFILES_FILE === '' && profileOf(config.UPSTREAM_PROFILE) === undefined)
    context.addIssue({
      code: 'custom',
      path: ['UPSTREAM_PROFILE'],
      message: `must be one of ${profileNames.join(', ')}, or a profile of UPSTREAM_PROFILES_FILE`,
    });
  if ((config.TLS_CERT_FILE === '') !== (config.TLS_KEY_FILE === ''))
    context.addIssue({ code: 'custom', path: ['TLS_CERT_FILE and TLS_KEY_FILE'], message: 'set both or neither' });
  if (config.TLS_CLIENT_CA_FILE !== '' && config.TLS_CERT_FILE === '')
    context.addIssue({ code: 'custom', path: ['TLS_CLIENT_CA_FILE'], message: 'needs TLS_CERT_FILE and TLS_KEY_FILE' });
});

export type Config = Readonly<z.output<typeof variables>>;

/** The environment as a value. Throws `ConfigError` naming every variable that is wrong. Other variables are not looked at. */
export function readConfig(given: Readonly<Record<string, string | undefined>>): Config {
  const result = environment.safeParse(given);
  if (result.success) return result.data;
  const problems = new Map<string, string[]>();
  for (const { path, message } of result.error.issues) {
    const name = String(path[0]);
    problems.set(name, [...(problems.get(name) ?? []), message]);
  }
  throw new ConfigError(
    [...problems].map(([name, messages]) => `${name}: ${messages.join('; ')}${gotOf(given[name])}`),
  );
}

/** The configuration as it may be shown: without user names and passwords in URLs. */
export function redactConfig(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace(/^(\w+:\/\/)[^/@]*@/, '$1…@') : value,
    ]),
  );
}

/** Names every wrong variable, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `Configuration: ${problem}`).join('\n'));
  }
}

/** Rows for documentation: name, default, meaning. */
export function describeVariables(): readonly { name: string; fallback: string; meaning: string }[] {
  return Object.entries(variables.shape).map(([name, schema]) => {
    const { fallback, description } = schema.meta() ?? {};
    return { name, fallback: String(fallback), meaning: String(description) };
  });
}

/** A variable that is unset or empty is read as `fallback`. */
function variable<Schema extends z.ZodType>(schema: Schema, fallback: string, description: string) {
  const given = (text: unknown) => (text === undefined || text === '' ? fallback : text);
  return z.preprocess(given, schema).meta({ fallback, description });
}

/** What was given, unless it may hold a password. */
function gotOf(text: string | undefined): string {
  return text === undefined || text.includes('@') ? '' : ` (got ${JSON.stringify(text)})`;
}
