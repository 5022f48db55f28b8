import { parseArgs } from 'node:util';
import { usageProblem } from '../../service/program/error-texts.ts';
import { repository, version } from '../../service/program/version.ts';
import { readOperatorFiles } from '../../service/server/operator-files.ts';
import { openProfiles } from '../../service/server/profile-source.ts';
import { type Config, ConfigError, readConfig } from '../../service/settings/config.ts';
import { printable, styleFor, withoutActive } from '../cli/style.ts';
import type { Terminal } from '../cli/terminal.ts';
import type { BodyRedactor } from '../redact/body-redactor.ts';
import { Redactor } from '../redact/redactor.ts';
import { explainRequest } from './explain-request.ts';
import type { RequestExplanation } from './explanation.ts';
import { type Path, pathOf, withValue } from './fields.ts';
import { helpText } from './help.ts';
import { printAnswer } from './print-answer.ts';
import { printRequest } from './print-request.ts';
import { answerIn, InputError, isCatalogPath, type RequestInput, readInput, requestIn } from './read-input.ts';
import { type AnswerRun, type RecordedAnswer, type ReplayedChunk, runAnswer } from './run-answer.ts';
import { type ClientRequest, readJson, runRequest, type Setup } from './run-request.ts';

/** The exit codes of `explain`, as `--help` lists them. */
export const exitCodes = { explained: 0, refused: 1, unusable: 2, failed: 3 } as const;

/** The machine form of an explanation, `--json`. Later versions add keys; one that changes a key has a new number. */
export interface ExplanationFile extends RequestExplanation {
  readonly format: 'responses-extproc explanation';
  readonly version: 1;
  /** How the recorded answer is translated; null without one. */
  readonly answer: (Omit<AnswerRun, 'chunks'> & { readonly chunks: readonly ReplayedChunk[] }) | null;
}

/** `responses-extproc explain`: shows how a request, and a recorded answer to it, are translated. */
export async function explain(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const options = optionsOf(args);
    if (options.help) {
      terminal.stdout.write(helpText);
      return exitCodes.explained;
    }
    return await explainAs(options, terminal);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InputError || error instanceof ConfigError)) throw error;
    const hint = error instanceof UsageError ? ' Run explain --help to see how it is used.' : '';
    const message = error.message.split('\n').map(printable).join('\n');
    terminal.stderr.write(`explain: ${message}${hint}\n`);
    return exitCodes.unusable;
  }
}

class UsageError extends Error {
  override readonly name = 'UsageError';
}

async function explainAs(options: Options, { env, stdin, stdout }: Terminal): Promise<number> {
  const { input, answer } = await inputOf(options, stdin);
  const setup = setupOf(options, env, input.profile);
  const request = options.model === null ? input.request : withModel(input.request, options.model);
  const now = input.startedAt ?? Math.floor(Date.now() / 1000);
  const linkBase = repository === null ? '' : `${repository}/blob/v${version}/`;
  const explanation = explainRequest({ setup, request, now, fields: options.fields, linkBase });
  const run = answer === null ? null : replayed(setup, request, now, answer);
  const output = new Output(stdout, redactorOf(request));
  if (options.json) await output.write(explanationJson(explanation, run));
  else {
    const style = styleFor({ env, stdout });
    await output.write([printRequest(explanation, style, options.full)]);
    if (run !== null) await output.write(lines(printAnswer(run, style, options.full)));
  }
  await output.end();
  if (explanation.outcome === 'refused') return exitCodes.refused;
  const isFailed = run !== null && (run.outcome === 'failed' || run.outcome === 'upstream_error');
  return isFailed ? exitCodes.failed : exitCodes.explained;
}

/** The request, and the answer to replay: of `--response`, else of the exchange that the request is from. */
async function inputOf(
  options: Options,
  stdin: NodeJS.ReadStream,
): Promise<{ readonly input: RequestInput; readonly answer: RecordedAnswer | null }> {
  const recorded = options.response === null ? null : await readInput(options.response, stdin);
  const isAlone = options.file === null && stdin.isTTY === true;
  // A saved exchange includes its request.
  const ofExchange = recorded === null ? null : requestIn(recorded, options.path);
  const hasRequest = ofExchange !== null && ofExchange.profile !== null;
  if (isAlone && !hasRequest && !isCatalogPath(options.path))
    throw new UsageError('No request was given: name a file, or pass it on standard input.');
  const given = isAlone ? Buffer.alloc(0) : await readInput(options.file, stdin);
  const input = given.length === 0 && ofExchange !== null && hasRequest ? ofExchange : requestIn(given, options.path);
  const answer = recorded === null ? input.answer : named(options.response, () => answerIn(recorded, options.status));
  return { input, answer };
}

function named<Value>(file: string | null, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof InputError ? new InputError(`${file}: ${error.message}`) : error;
  }
}

/** The service's configuration, overridden by the command line. Throws `ConfigError`. */
function setupOf(options: Options, env: Terminal['env'], ofExchange: string | null): Setup {
  const profilesFile = options.profilesFile ?? env['UPSTREAM_PROFILES_FILE'];
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

/** The request for another model. An unreadable one is left for the service to refuse. */
function withModel(request: ClientRequest, model: string): ClientRequest {
  try {
    const body = withValue(readJson(request.body), ['model'], model);
    return { ...request, body: Buffer.from(JSON.stringify(body)) };
  } catch {
    return request;
  }
}

/** Null where the request never reaches the upstream. */
function replayed(setup: Setup, request: ClientRequest, now: number, answer: RecordedAnswer): AnswerRun | null {
  const first = runRequest(setup, request, now);
  if (first.type !== 'sent' && first.type !== 'catalog') return null;
  const open = () => {
    const run = runRequest(setup, request, now);
    return 'exchange' in run ? run.exchange : first.exchange;
  };
  return runAnswer(open, answer);
}

/** The machine form, the chunks one by one: together they may be longer than a string can be. */
function* explanationJson(explanation: RequestExplanation, answer: AnswerRun | null): Generator<string, void> {
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

function* lines(all: Iterable<string>): Generator<string, void> {
  yield '\n';
  for (const line of all) yield `${line}\n`;
}

/** Output gets pasted: it redacts the request's credentials, wherever they occur again. */
function redactorOf({ path, headers, body }: ClientRequest): Redactor {
  const redactor = new Redactor();
  redactor.headers([[':path', path], ...headers]);
  redactor.wholeBody(body, 'request');
  return redactor;
}

/** Written at once. */
const outputBytes = 256 * 1024;

/** Standard output, without the request's credentials and without what a terminal would interpret, as fast as it is read. */
class Output {
  readonly #stdout: NodeJS.WriteStream;
  readonly #body: BodyRedactor;

  constructor(stdout: NodeJS.WriteStream, redactor: Redactor) {
    this.#stdout = stdout;
    this.#body = redactor.body('request');
  }

  async write(texts: Iterable<string>): Promise<void> {
    let waiting = '';
    for (const text of texts) {
      waiting += text;
      if (waiting.length < outputBytes) continue;
      await this.#send(this.#body.push(Buffer.from(withoutActive(waiting))));
      waiting = '';
    }
    await this.#send(this.#body.push(Buffer.from(withoutActive(waiting))));
  }

  /** Resolves when everything is written: a pipe takes it piece by piece, and the process exits after that. */
  async end(): Promise<void> {
    await this.#send(this.#body.end());
  }

  async #send(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#stdout.write(bytes, () => resolve());
    });
  }
}

interface Options {
  readonly help: boolean;
  readonly file: string | null;
  readonly response: string | null;
  readonly status: number;
  readonly profile: string | null;
  readonly profilesFile: string | null;
  readonly model: string | null;
  readonly path: string;
  readonly fields: readonly Path[] | null;
  readonly full: boolean;
  readonly json: boolean;
}

const flags = {
  help: { type: 'boolean', short: 'h' },
  profile: { type: 'string', short: 'p' },
  'profiles-file': { type: 'string' },
  model: { type: 'string', short: 'm' },
  path: { type: 'string' },
  field: { type: 'string', multiple: true },
  response: { type: 'string', short: 'r' },
  status: { type: 'string' },
  full: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

/** Throws `UsageError`. */
function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parsedArguments(args);
  const [file = null, ...more] = positionals;
  if (more.length > 0)
    throw new UsageError(`Only one request can be explained at a time; given: ${positionals.join(' and ')}.`);
  const status = Number(values.status ?? 200);
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new UsageError(`--status is ${values.status}; it must be an HTTP status from 200 to 599.`);
  const path = values.path ?? '/v1/responses';
  if (!path.startsWith('/')) throw new UsageError(`--path is ${path}; it must start with /.`);
  return {
    help: values.help ?? false,
    file: file === '-' ? null : file,
    response: values.response ?? null,
    status,
    profile: values.profile ?? null,
    profilesFile: values['profiles-file'] ?? null,
    model: values.model ?? null,
    path,
    fields: values.field?.map(fieldOf) ?? null,
    full: values.full ?? false,
    json: values.json ?? false,
  };
}

function parsedArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(usageProblem(error));
  }
}

function fieldOf(text: string): Path {
  const path = pathOf(text);
  if (path === null) throw new UsageError(`--field is ${text}; it must be a path such as input[0].content.`);
  return path;
}
