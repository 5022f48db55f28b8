import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtInProfiles, profilesFile } from '../src/filter/index.ts';
import { didYouMean, usageProblem } from '../src/service/settings/error-texts.ts';

export type MeshOptions = NonNullable<ReturnType<typeof parseMeshOptions>>;

export function writeUsageText({ plain, beforeOptions }: typeof thisCommand): string {
  return readFileSync(join(import.meta.dirname, 'usage.txt'), 'utf8')
    .replace('{options}', beforeOptions)
    .replace('{command}', plain)
    .replace('{profiles}', wrapWords([...builtInProfiles.keys()], 24));
}

/** Reads the command line. Returns null for `--help`; throws a message for the user when something is wrong. */
export function parseMeshOptions(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const kept = ['port', 'upstream', 'upstream-key', 'profile'].filter(
    (name) => environment[`npm_config_${name.replace('-', '_')}`] !== undefined,
  );
  // npm treats options before a `--` as its own, and passes on at most their values.
  if (kept.length > 0)
    throw new Error(
      `npm kept --${kept.join(' and --')} for itself. Put -- before the options: ${thisCommand.beforeOptions} --${kept[0]} …`,
    );
  const values = parseArguments(args);
  if (values.help) return null;
  const upstream = values.upstream === undefined ? undefined : parseUpstreamUrl(values.upstream);
  const upstreamKey = values['upstream-key'] ?? (environment['UPSTREAM_KEY'] || undefined);
  if (values['upstream-key'] !== undefined && upstream === undefined)
    throw new Error('--upstream-key needs --upstream.');
  if (values.profile !== undefined) checkProfile(values.profile, environment['UPSTREAM_PROFILES_FILE']);
  return {
    /** Without a port the mesh listens on 10000, or on the next free port. */
    port: values.port === undefined ? undefined : parsePort(values.port),
    /** Without a URL the mesh runs its embedded upstream. */
    upstream,
    upstreamKey: upstream === undefined ? undefined : upstreamKey,
    profile: values.profile,
    printEnvoyConfig: values['print-envoy-config'] ?? false,
  };
}

const flags = {
  port: { type: 'string' },
  upstream: { type: 'string' },
  'upstream-key': { type: 'string' },
  profile: { type: 'string' },
  'print-envoy-config': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags }).values;
  } catch (error) {
    throw new Error(`${usageProblem(error, flags)} --help shows the options.`);
  }
}

function checkProfile(name: string, file: string | undefined): void {
  const own = file ? profilesFile().readProfilesFile(readFileSync(file, 'utf8'), file).keys() : [];
  const names = [...builtInProfiles.keys(), ...own];
  if (names.includes(name)) return;
  if (/\.(?:ya?ml|json)$/.test(name))
    throw new Error(
      `--profile takes the name of a profile; its file goes into a variable: UPSTREAM_PROFILES_FILE=${name} ${thisCommand.beforeOptions} … --profile NAME`,
    );
  throw new Error(
    `There is no profile ${name}.${didYouMean(name, names)} --profile must be one of: ${names.join(', ')}.`,
  );
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535)
    throw new Error(`--port must be from 1 to 65535, not "${text}".`);
  return port;
}

function parseUpstreamUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`--upstream must be a URL such as http://127.0.0.1:8000/v1, not "${text}".`);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new Error('--upstream takes no user name, query or fragment; use --upstream-key for a key.');
  // People paste this form of the URL, and the doctor accepts it too.
  url.pathname = url.pathname.replace(/\/chat\/completions\/?$/, '');
  return url;
}

function wrapWords(words: readonly string[], indent: number): string {
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length > 55) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last}, ${word}`;
  }
  return lines.join(`,\n${' '.repeat(indent)}`);
}

/**
 * The commands that start the local mesh, the mesh with options behind it (npm wants `--` there), the service alone, and
 * Envoy with options of its own. A clone has others than the npm package, whose program has the package's name.
 */
export function chooseCommandNames(program: string, environment: NodeJS.ProcessEnv) {
  const service = `${environment['npm_lifecycle_event'] === 'npx' ? 'npx ' : ''}responses-extproc`;
  return /^responses-extproc(?:\.mjs)?$/.test(basename(program))
    ? { plain: `${service} try`, beforeOptions: `${service} try`, service, envoy: `${service} envoy` }
    : { plain: 'npm start', beforeOptions: 'npm start --', service: 'node dist/main.js', envoy: 'npm run envoy --' };
}

export const thisCommand = chooseCommandNames(process.argv[1] ?? '', process.env);
