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
const path = z.string().startsWith('/', 'must be a path that starts with /');

/** One row per variable: how it is read, its default as text, what it means. The README's table is made from this. */
const variables = {
  LISTEN: row(
    z.string().min(1),
    '0.0.0.0:50051',
    'Where gRPC listens: `HOST:PORT`, `unix:/path`, or several with commas.',
  ),
  ADMIN_LISTEN: row(
    z.string().min(1),
    '127.0.0.1:9090',
    'Where probes and metrics listen, `HOST:PORT`; `off` for none.',
  ),
  LOG_LEVEL: row(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info', 'Least level that is logged.'),
  UPSTREAM_PROFILE: row(
    z.string().refine((name) => profileOf(name) !== undefined, `must be one of ${profileNames.join(', ')}`),
    'generic',
    'What kind of Chat server is behind; a route overrides it with the gRPC metadata `x-upstream-profile`.',
  ),
  UPSTREAM_PATH: row(
    path.or(z.literal('')),
    '',
    'Path of the upstream’s Chat endpoint, when the profile’s own is not right; `{model}` is filled in. A route overrides it with `x-upstream-path`.',
  ),
  DEFAULT_MODEL: row(z.string(), '', 'Model of requests that name none; unset refuses them.'),
  REQUEST_BODY_MODE: row(bodyMode, 'BUFFERED', 'Mode assumed when the proxy does not send `protocol_config`.'),
  RESPONSE_BODY_MODE: row(bodyMode, 'FULL_DUPLEX_STREAMED', 'Likewise for the response.'),
  OMITTED_STORE: row(
    z.enum(['accept', 'reject']),
    'accept',
    'A request without `store`: run it and say `store: false`, or refuse it.',
  ),
  REASONING_EVENTS: row(
    z.enum(['summary', 'reasoning_text', 'reasoning']),
    'summary',
    'Which events carry the upstream’s reasoning text.',
  ),
  DROPPED_TOOLS: row(
    list,
    'web_search,web_search_preview',
    'Hosted tool types that are left out and named in `x-responses-dropped` instead of refused.',
  ),
  UNSUPPORTED_ITEMS: row(
    z.enum(['reject', 'drop']),
    'reject',
    'Input items of hosted tools: refuse, or leave out with their outputs.',
  ),
  ORPHAN_OUTPUTS: row(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool output without its call: refuse, or make up the call.',
  ),
  MISSING_OUTPUTS: row(
    z.enum(['reject', 'synthesize']),
    'reject',
    'A tool call without its output: refuse, or answer it with `aborted`.',
  ),
  UNKNOWN_FIELDS: row(z.enum(['forward', 'reject', 'ignore']), 'forward', 'Top-level request fields nobody knows.'),
  STRICT_ECHO: row(flag, 'false', 'Echo only what the published schema allows (`schema: null`, no `minimal` effort).'),
  MAX_REQUEST_BYTES: row(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Request body after decompression; more is a 413.',
  ),
  MAX_INPUT_ITEMS: row(count(1, 10_000_000), '10000', 'Items in `input`.'),
  MAX_TEXT_BYTES: row(count(1, 2 ** 31 - 1), String(10 * MiB), 'One text part.'),
  MAX_IMAGE_URL_BYTES: row(count(1, 2 ** 31 - 1), String(20 * MiB), 'One image URL, data URLs included.'),
  MAX_FILE_BYTES: row(count(1, 2 ** 31 - 1), String(32 * MiB), 'One `file_data`.'),
  MAX_TOOLS: row(count(1, 100_000), '512', 'Tools in a request, those inside namespaces counted.'),
  MAX_NESTING: row(count(4, 1000), '64', 'Levels of objects and arrays in the request body.'),
  MAX_RESPONSE_BYTES: row(
    count(1024, 2 ** 31 - 1),
    String(64 * MiB),
    'Upstream JSON answer after decompression; more is a 502.',
  ),
  MAX_ERROR_BYTES: row(
    count(1024, 2 ** 31 - 1),
    String(1 * MiB),
    'Upstream error body that is read; the rest is ignored.',
  ),
  MAX_SSE_EVENT_BYTES: row(
    count(1024, 2 ** 31 - 1),
    String(8 * MiB),
    'One upstream SSE event; more ends the response with `response.failed`.',
  ),
  UPSTREAM_IDLE_TIMEOUT_MS: row(
    count(0, 86_400_000),
    '300000',
    'Silence of the upstream after which the answer ends with `upstream_timeout`; 0 waits for ever.',
  ),
  HEARTBEAT_INTERVAL_MS: row(
    count(0, 3_600_000),
    '0',
    'Silence after which an SSE comment is sent to the client; 0 for none.',
  ),
  FINISH_GRACE_MS: row(
    count(0, 60_000),
    '2000',
    'How long an upstream may keep its stream open after the finish reason.',
  ),
  DRAIN_TIMEOUT_MS: row(count(0, 86_400_000), '600000', 'How long running streams may go on after SIGTERM.'),
  MAX_EXCHANGES: row(
    count(0, 10_000_000),
    '20000',
    'Exchanges at once in one process; beyond it a 503 with `retry-after`; 0 for no limit.',
  ),
  MAX_BUFFERED_BYTES: row(
    count(0, 2 ** 40),
    String(1024 * MiB),
    'Bytes of bodies held at once in one process; beyond it a 503; 0 for no limit.',
  ),
  WORKERS: row(count(1, 256), '1', 'Processes that share the listener.'),
  TLS_CERT_FILE: row(z.string(), '', 'PEM certificate chain for the gRPC port; read again when it changes.'),
  TLS_KEY_FILE: row(z.string(), '', 'PEM key of that certificate.'),
  TLS_CLIENT_CA_FILE: row(z.string(), '', 'PEM authorities whose client certificates are required (mTLS).'),
  METRICS_MAX_MODELS: row(
    count(0, 10_000),
    '50',
    'Models with a label of their own in the metrics; the rest count as `other`.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: row(z.url().or(z.literal('')), '', 'OTLP/HTTP endpoint for traces; unset means none.'),
  OTEL_SERVICE_NAME: row(z.string().min(1), 'responses-extproc', 'Service name in traces.'),
} as const;

type Variables = typeof variables;
export type Config = { readonly [Name in keyof Variables]: z.output<Variables[Name]['schema']> };

/** The environment as a value. Throws `ConfigError` naming every variable that is wrong. Other variables are not looked at. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { schema, fallback }] of Object.entries(variables)) {
    const given = environment[name];
    const result = schema.safeParse(given === undefined || given === '' ? fallback : given);
    if (result.success) config[name] = result.data;
    else
      problems.push(
        `${name}: ${result.error.issues.map((issue) => issue.message).join('; ')} (got ${JSON.stringify(given)})`,
      );
  }
  if ((config['TLS_CERT_FILE'] === '') !== (config['TLS_KEY_FILE'] === ''))
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  if (config['TLS_CLIENT_CA_FILE'] !== '' && config['TLS_CERT_FILE'] === '')
    problems.push('TLS_CLIENT_CA_FILE: needs TLS_CERT_FILE and TLS_KEY_FILE');
  if (problems.length > 0) throw new ConfigError(problems);
  return config as unknown as Config; // each key was parsed by its own schema above
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
  return Object.entries(variables).map(([name, { fallback, meaning }]) => ({ name, fallback, meaning }));
}

function row<Schema extends z.ZodType>(schema: Schema, fallback: string, meaning: string) {
  return { schema, fallback, meaning };
}
