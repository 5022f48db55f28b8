import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { builtInProfiles, profilesFile } from '../../src/filter/index.ts';
import { usageProblem } from '../../src/service/settings/error-texts.ts';
import { didYouMean } from '../../src/service/settings/unknown-names.ts';

/** The options of `npm start -- …`. */
export interface MeshOptions {
  /** Undefined: 10000, or the next free one. */
  readonly port: number | undefined;
  /** Undefined: the embedded upstream. */
  readonly upstream: URL | undefined;
  readonly upstreamKey: string | undefined;
  readonly profile: string | undefined;
}

/** The text of `--help`; `program` is the file that was started, which is the package's own for `responses-extproc try`. */
export function usageOf(program: string): string {
  const command = program.endsWith('main.ts') ? 'npm start --' : 'responses-extproc try';
  return `Usage: ${command} [options]

Runs Envoy with the Responses translator in front of a Chat Completions server.

  --port PORT          where clients connect (default: 10000 or the next free one)
  --upstream URL       base URL of a Chat server, such as http://127.0.0.1:11434/v1
                       (default: an embedded server with a few demo models)
  --upstream-key KEY   API key for that server; else UPSTREAM_KEY, else what the client sends
  --profile NAME       what kind of server it is: ${wrapped([...builtInProfiles.keys()], 23)},
                       or a profile of UPSTREAM_PROFILES_FILE
  --help               show this text

Every variable of the service (docs/settings.md) may be set too: LOG_LEVEL=debug ${command.replace(/ --$/, '')}
LOG_FORMAT=json prints all log lines as they are; short, one line for each request, which is what a terminal gets.
ENVOY_BIN=/path/to/envoy runs that Envoy instead of the pinned one.`;
}

/** Reads the command line. Returns null for `--help`; throws a message for the user when something is wrong. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): MeshOptions | null {
  const kept = ['port', 'upstream', 'upstream-key', 'profile'].filter(
    (name) => environment[`npm_config_${name.replace('-', '_')}`] !== undefined,
  );
  // npm treats options before a `--` as its own, and passes on at most their values.
  if (kept.length > 0)
    throw new Error(
      `npm kept --${kept.join(' and --')} for itself. Put -- before the options: npm start -- --${kept[0]} …`,
    );
  const { values } = parsed(args);
  if (values.help) return null;
  const upstream = values.upstream === undefined ? undefined : readUrl(values.upstream);
  const upstreamKey = values['upstream-key'] ?? (environment['UPSTREAM_KEY'] || undefined);
  if (values['upstream-key'] !== undefined && upstream === undefined)
    throw new Error('--upstream-key needs --upstream.');
  if (values.profile !== undefined) checkProfile(values.profile, environment['UPSTREAM_PROFILES_FILE']);
  return {
    port: values.port === undefined ? undefined : readPort(values.port),
    upstream,
    upstreamKey: upstream === undefined ? undefined : upstreamKey,
    profile: values.profile,
  };
}

const flags = {
  port: { type: 'string' },
  upstream: { type: 'string' },
  'upstream-key': { type: 'string' },
  profile: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags });
  } catch (error) {
    throw new Error(`${usageProblem(error, flags)} --help shows the options.`);
  }
}

/** Throws unless the profile is built in, or in the operator's file. */
function checkProfile(name: string, file: string | undefined): void {
  const own =
    file === undefined || file === ''
      ? []
      : [...profilesFile().readProfilesFile(readFileSync(file, 'utf8'), file).keys()];
  const names = [...builtInProfiles.keys(), ...own];
  if (names.includes(name)) return;
  if (/\.(?:ya?ml|json)$/.test(name))
    throw new Error(
      `--profile takes the name of a profile; its file goes into a variable: UPSTREAM_PROFILES_FILE=${name} npm start -- … --profile NAME`,
    );
  throw new Error(
    `There is no profile ${name}.${didYouMean(name, names)} --profile must be one of: ${names.join(', ')}.`,
  );
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535)
    throw new Error(`--port must be from 1 to 65535, not "${text}".`);
  return port;
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`--upstream must be a URL such as http://127.0.0.1:8000/v1, not "${text}".`);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new Error('--upstream takes no user name, query or fragment; use --upstream-key for a key.');
  // As the doctor accepts it, and as people paste it.
  url.pathname = url.pathname.replace(/\/chat\/completions\/?$/, '');
  return url;
}

function wrapped(words: readonly string[], indent: number): string {
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length > 55) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last}, ${word}`;
  }
  return lines.join(`,\n${' '.repeat(indent)}`);
}
