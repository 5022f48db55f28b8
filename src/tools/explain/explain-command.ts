import { Redactor } from '../../formats/credentials/redactor.ts';
import { readOperatorFiles } from '../../service/server/operator-files.ts';
import { openProfiles } from '../../service/server/profile-source.ts';
import { type Config, ConfigError, readConfig } from '../../service/settings/config.ts';
import { repository, version } from '../../service/telemetry/version.ts';
import {
  createStyle,
  escapeControls,
  escapeOutput,
  parseOptions,
  type Style,
  type Terminal,
  UsageError,
} from '../cli/terminal.ts';
import type { ExchangeFile } from '../files/exchange-file.ts';
import { explainRequest } from './explain-request.ts';
import type { RequestExplanation } from './explanation.ts';
import { type Path, readPath, replaceValue } from './fields.ts';
import { printAnswer } from './print-answer.ts';
import { printRequest } from './print-request.ts';
import {
  extractRequest,
  InputError,
  type RequestInput,
  readInput,
  readRecordedAnswer,
  readRequest,
} from './read-input.ts';
import { type AnswerRun, type RecordedAnswer, type ReplayedChunk, runAnswer } from './run-answer.ts';
import { type ClientRequest, isForCatalog, parseServiceJson, runRequest, type Setup } from './run-request.ts';

export const exitCodes = { explained: 0, refused: 1, unusable: 2, failed: 3 } as const;

/** The machine form of an explanation, `--json`. Later versions add keys; one that changes a key has a new number. */
export interface ExplanationFile extends RequestExplanation {
  readonly format: 'responses-extproc explanation';
  readonly version: 1;
  readonly answer: (Omit<AnswerRun, 'chunks'> & { readonly chunks: readonly ReplayedChunk[] }) | null;
}

/** `responses-extproc explain`: shows how a request, and a recorded answer to it, are translated. */
export async function explain(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const options = parseExplainOptions(args);
    if (options.help) {
      terminal.stdout.write(helpText);
      return exitCodes.explained;
    }
    return await explainAs(options, terminal);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InputError || error instanceof ConfigError)) throw error;
    const hint = error instanceof UsageError ? ' Run explain --help to see how it is used.' : '';
    const message = error.message.split('\n').map(escapeControls).join('\n');
    terminal.stderr.write(`explain: ${message}${hint}\n`);
    return exitCodes.unusable;
  }
}

async function explainAs(options: Options, { env, stdin, stdout }: Terminal): Promise<number> {
  const { input, answer } = await readRequestAndAnswer(options, stdin);
  const request = options.model === undefined ? input.request : replaceModel(input.request, options.model);
  const now = input.startedAt ?? Math.floor(Date.now() / 1000);
  const { setup, explanation } = explainInput(options, env, { ...input, request }, now);
  const run = answer === null ? null : replayAnswer(setup, request, now, answer);
  const texts = options.json
    ? writeExplanationJson(explanation, run)
    : writeExplanationText(explanation, run, createStyle({ env, stdout }), options.full);
  // The process exits after this, so each piece waits until the pipe has taken it.
  for (const bytes of redactPieces(texts, createRequestRedactor(request)))
    await new Promise<void>((resolve) => stdout.write(bytes, () => resolve()));
  if (explanation.outcome === 'refused') return exitCodes.refused;
  const isFailed = run !== null && (run.outcome === 'failed' || run.outcome === 'upstream_error');
  return isFailed ? exitCodes.failed : exitCodes.explained;
}

/** The output of `explain --json` for an exchange's request alone. Throws `InputError` and `ConfigError`. */
export function explainExchange(file: ExchangeFile, env: Terminal['env']): Generator<Uint8Array, void> {
  const input = extractRequest(file);
  const { explanation } = explainInput(parseExplainOptions([]), env, input, input.startedAt);
  return redactPieces(writeExplanationJson(explanation, null), createRequestRedactor(input.request));
}

function explainInput(options: Options, env: Terminal['env'], { request, profile }: RequestInput, now: number) {
  const setup = readSetup(options, env, profile);
  const linkBase = repository === null ? '' : `${repository}/blob/v${version}/`;
  return { setup, explanation: explainRequest({ setup, request, now, fields: options.fields, linkBase }) };
}

/** Reads the request and the answer to replay, which is `--response` or part of the recorded exchange. */
async function readRequestAndAnswer(options: Options, stdin: NodeJS.ReadStream) {
  const recorded = options.response === null ? null : await readInput(options.response, stdin);
  const isAlone = options.file === null && stdin.isTTY === true;
  // A recorded exchange contains its request.
  const ofExchange =
    recorded === null ? null : nameInErrors(options.response, () => readRequest(recorded, options.path));
  const hasRequest = ofExchange !== null && ofExchange.profile !== null;
  if (isAlone && !hasRequest && !isForCatalog('GET', options.path))
    throw new UsageError('No request was given: name a file, or pass it on standard input.');
  const given = isAlone ? Buffer.alloc(0) : await readInput(options.file, stdin);
  const input = given.length === 0 && ofExchange !== null && hasRequest ? ofExchange : readRequest(given, options.path);
  const answer =
    recorded === null
      ? input.answer
      : nameInErrors(options.response, () => readRecordedAnswer(recorded, options.status));
  return { input, answer };
}

function nameInErrors<Value>(file: string | null, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof InputError ? new InputError(`${file}: ${error.message}`) : error;
  }
}

/** The service's configuration, overridden by the command line. Throws `ConfigError`. */
function readSetup(options: Options, env: Terminal['env'], ofExchange: string | null): Setup {
  const profilesFile = options['profiles-file'] ?? env['UPSTREAM_PROFILES_FILE'];
  const given = { ...env, UPSTREAM_PROFILES_FILE: profilesFile };
  const name = options.profile ?? ofExchange;
  const isOther = name !== null && name !== env['UPSTREAM_PROFILE'];
  // UPSTREAM_PATH belongs to the configured profile: one named on the command line has its own path, as for a route.
  const config: Config = readConfig(isOther ? { ...given, UPSTREAM_PROFILE: name, UPSTREAM_PATH: '' } : given);
  const profiles = openProfiles(config);
  const profile = profiles.profileOf(config.UPSTREAM_PROFILE);
  profiles.close();
  if (profile === undefined) throw new ConfigError([`there is no profile ${config.UPSTREAM_PROFILE}`]);
  return { config, profile, files: readOperatorFiles(config) };
}

/** Puts another model into the request. A body that cannot be read is left for the service to refuse. */
function replaceModel(request: ClientRequest, model: string): ClientRequest {
  try {
    const body = replaceValue(parseServiceJson(request.body), ['model'], model);
    return { ...request, body: Buffer.from(JSON.stringify(body)) };
  } catch {
    return request;
  }
}

function replayAnswer(setup: Setup, request: ClientRequest, now: number, answer: RecordedAnswer): AnswerRun | null {
  const first = runRequest(setup, request, now);
  if (first.type !== 'sent' && first.type !== 'catalog') return null;
  const open = () => {
    const run = runRequest(setup, request, now);
    return 'exchange' in run ? run.exchange : first.exchange;
  };
  return runAnswer(open, answer);
}

/** Writes the explanation as JSON in pieces, because a long answer may exceed the longest string. */
function* writeExplanationJson(explanation: RequestExplanation, answer: AnswerRun | null): Generator<string, void> {
  const file: ExplanationFile = {
    format: 'responses-extproc explanation',
    version: 1,
    ...explanation,
    answer: answer === null ? null : { ...answer, chunks: [] },
  };
  const text = `${JSON.stringify(file, null, 2)}\n`;
  const place = '\n    "chunks": [';
  const at = answer === null ? -1 : text.lastIndexOf(place) + place.length;
  if (answer === null || at < place.length) return yield text;
  yield text.slice(0, at);
  let before = '';
  for (const chunk of answer.chunks) {
    yield `${before}\n      ${JSON.stringify(chunk, null, 2).replaceAll('\n', '\n      ')}`;
    before = ',';
  }
  yield `${before === '' ? '' : '\n    '}${text.slice(at)}`;
}

function* writeExplanationText(explanation: RequestExplanation, answer: AnswerRun | null, style: Style, full: boolean) {
  yield printRequest(explanation, style, full);
  if (answer === null) return;
  yield '\n';
  for (const line of printAnswer(answer, style, full)) yield `${line}\n`;
}

/** Creates a redactor that hides the request's credentials wherever the output repeats them. */
function createRequestRedactor({ path, headers, body }: ClientRequest): Redactor {
  const redactor = new Redactor();
  redactor.headers([[':path', path], ...headers]);
  redactor.body(Buffer.from(body).toString('latin1'), 'request');
  return redactor;
}

const outputBytes = 2 ** 18;

/** Redacts the request's credentials in the output, and escapes what a terminal would interpret. */
function* redactPieces(texts: Iterable<string>, redactor: Redactor): Generator<Uint8Array, void> {
  let waiting = '';
  for (const text of texts) {
    // The texts are cut between values, so that each credential is in one of them.
    waiting += redactor.body(Buffer.from(escapeOutput(text)).toString('latin1'), 'request');
    if (waiting.length < outputBytes) continue;
    yield Buffer.from(waiting, 'latin1');
    waiting = '';
  }
  yield Buffer.from(waiting, 'latin1');
}

type Options = ReturnType<typeof parseExplainOptions>;

const flags = {
  help: { type: 'boolean', short: 'h', default: false },
  profile: { type: 'string', short: 'p' },
  'profiles-file': { type: 'string' },
  model: { type: 'string', short: 'm' },
  path: { type: 'string', default: '/v1/responses' },
  field: { type: 'string', multiple: true },
  response: { type: 'string', short: 'r' },
  status: { type: 'string', default: '200' },
  full: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

function parseExplainOptions(args: readonly string[]) {
  const { values, positionals } = parseOptions(args, flags);
  const [file = null, ...more] = positionals;
  if (more.length > 0)
    throw new UsageError(`Only one request can be explained at a time; given: ${positionals.join(' and ')}.`);
  const status = Number(values.status);
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new UsageError(`--status is ${values.status}; it must be an HTTP status from 200 to 599.`);
  if (!values.path.startsWith('/')) throw new UsageError(`--path is ${values.path}; it must start with /.`);
  return {
    ...values,
    status,
    file: file === '-' ? null : file,
    response: values.response ?? null,
    fields: values.field?.map(parseField) ?? null,
  };
}

function parseField(text: string): Path {
  const path = readPath(text);
  if (path === null) throw new UsageError(`--field is ${text}; it must be a path such as input[0].content.`);
  return path;
}

export const helpText = `Usage: npm run explain -- [options] [FILE]                  (in a clone)
       docker run -i IMAGE explain [options] [FILE]
       responses-extproc explain [options] [FILE]           (where the package is installed)

Shows what the service makes of a Responses request: the Chat Completions request that the upstream gets (path, headers,
body), and what became of each field: sent, renamed, rewritten, only seen in the Response, dropped, left out or refused.
For what is not simply sent it says why (the flag of the profile or the environment variable that decided, or the rule)
and names the row of docs/mapping.md. Nothing is sent anywhere.

FILE is the JSON body of a request; or {"method", "path", "headers", "body"}; or an exchange that was downloaded from the
inspector, which has its profile and its answer with it. Without FILE, or with -, it is read from standard input.

Settings are those of the service: the same environment variables (docs/settings.md), and these options:

  -p, --profile NAME        the upstream's profile, instead of UPSTREAM_PROFILE; its path comes with it
      --profiles-file FILE  profiles of your own, instead of UPSTREAM_PROFILES_FILE
  -m, --model NAME          as if the request were for this model, which rules of the profile may go by
      --path PATH           where the request is sent: /v1/responses (the default), /v1/responses/compact,
                            /v1/responses/input_tokens; '/v1/models?client_version=1', which has no body, for the
                            catalog that Codex asks for
      --field PATH          only this field, at any depth: --field 'input[2].content[0].detail'; may be repeated
  -r, --response FILE       replays a recorded Chat answer and shows the Responses events that each chunk of it causes:
                            JSON, an event stream, or a downloaded exchange. With such an exchange the request may be
                            left out
      --status STATUS       the HTTP status of that answer (default 200)
      --full                shortens nothing
      --json                prints JSON instead of text, see docs/explain.md
  -h, --help                shows this text

Text has colours on a terminal, and none in a pipe or with NO_COLOR=1; FORCE_COLOR=1 has them anyway.

Exit codes:
  0  explained
  1  the service refuses the request; the output says why, and what it would refuse next
  2  wrong usage, a file that cannot be read, or an invalid configuration
  3  the recorded answer becomes an error, or a Response that failed

Examples:
  npm run explain -- --profile vllm request.json
  npm run -s explain -- --json request.json | jq '.fields[] | select(.fate == "dropped")'
  npm run explain -- request.json --response answer.sse
  npm run explain -- exchange.json
`;
