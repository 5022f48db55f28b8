import { parseArgs } from 'node:util';
import type { Terminal } from '../program/command-line.ts';
import { repository, version } from '../program/version.ts';
import { Redactor } from '../redact/redactor.ts';
import { readOperatorFiles } from '../server/operator-files.ts';
import { openProfiles } from '../server/profile-source.ts';
import { type Config, ConfigError, readConfig } from '../settings/config.ts';
import { explainRequest } from './explain-request.ts';
import type { RequestExplanation } from './explanation.ts';
import { type Path, pathOf, withValue } from './fields.ts';
import { helpText } from './help.ts';
import { answerIn, InputError, isCatalogPath, type RequestInput, readInput, requestIn } from './input.ts';
import { printAnswer } from './print-answer.ts';
import { printRequest } from './print-request.ts';
import { type AnswerRun, type RecordedAnswer, runAnswer } from './run-answer.ts';
import { type ClientRequest, readJson, runRequest, type Setup } from './run-request.ts';
import { styleFor } from './style.ts';

/** The exit codes of `explain`, as `--help` lists them. */
export const exitCodes = { explained: 0, refused: 1, unusable: 2, failed: 3 } as const;

/** The machine form of an explanation, `--json`. A later version adds keys; one that changes any has another number. */
export interface ExplanationFile extends RequestExplanation {
  readonly format: 'responses-extproc explanation';
  readonly version: 1;
  /** What became of the recorded answer; null without one. */
  readonly answer: AnswerRun | null;
}

/** `responses-extproc explain`: shows what becomes of a request, and of a recorded answer to it. */
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
    terminal.stderr.write(`explain: ${error.message}${hint}\n`);
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
  const redactor = redactorOf(request);
  if (options.json) {
    const file: ExplanationFile = { format: 'responses-extproc explanation', version: 1, ...explanation, answer: run };
    await write(stdout, redactor, `${JSON.stringify(file, null, 2)}\n`);
  } else {
    const style = styleFor({ env, stdout });
    const asked = printRequest(explanation, style, options.full);
    await write(stdout, redactor, run === null ? asked : `${asked}\n${printAnswer(run, style, options.full)}`);
  }
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
  // A saved exchange has its request with it.
  const ofExchange = recorded === null ? null : requestIn(recorded, options.path);
  const hasRequest = ofExchange !== null && ofExchange.profile !== null;
  if (isAlone && !hasRequest && !isCatalogPath(options.path))
    throw new UsageError('There is no request: name a file, or give it on standard input.');
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

/** The service's configuration, with what the command line says instead. Throws `ConfigError`. */
function setupOf(options: Options, env: Terminal['env'], ofExchange: string | null): Setup {
  const profilesFile = options.profilesFile ?? env['UPSTREAM_PROFILES_FILE'];
  const given = { ...env, UPSTREAM_PROFILES_FILE: profilesFile };
  const name = options.profile ?? ofExchange;
  const isOther = name !== null && name !== env['UPSTREAM_PROFILE'];
  // UPSTREAM_PATH belongs to the configured profile: one that is named besides has its own, as for a route.
  const config: Config = readConfig(isOther ? { ...given, UPSTREAM_PROFILE: name, UPSTREAM_PATH: '' } : given);
  const profiles = openProfiles(config);
  const profile = profiles.profileOf(config.UPSTREAM_PROFILE);
  profiles.close();
  if (profile === undefined) throw new ConfigError([`there is no profile ${config.UPSTREAM_PROFILE}`]);
  return { config, profile, files: readOperatorFiles(config) };
}

/** The same request of another model. One that cannot be read is left for the service to refuse. */
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
  const run = runRequest(setup, request, now);
  return run.type === 'sent' || run.type === 'catalog' ? runAnswer(run.exchange, answer) : null;
}

/** What is printed gets pasted: it knows the request's credentials, wherever they come again. */
function redactorOf({ path, headers, body }: ClientRequest): Redactor {
  const redactor = new Redactor();
  redactor.headers([[':path', path], ...headers]);
  redactor.wholeBody(body, 'request');
  return redactor;
}

/** Resolves when everything is on its way: a pipe takes it piece by piece, and the process ends after that. */
async function write(stdout: NodeJS.WriteStream, redactor: Redactor, text: string): Promise<void> {
  const shown = redactor.wholeBody(Buffer.from(text), 'request');
  await new Promise<void>((resolve) => {
    stdout.write(shown, () => resolve());
  });
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
  if (more.length > 0) throw new UsageError(`One request at a time: there is ${positionals.join(' and ')}.`);
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
    throw new UsageError(`${error instanceof Error ? error.message.split('. ', 1)[0] : String(error)}.`);
  }
}

function fieldOf(text: string): Path {
  const path = pathOf(text);
  if (path === null) throw new UsageError(`--field is ${text}; it must be a path such as input[0].content.`);
  return path;
}
