import { parseArgs } from 'node:util';
import { didYouMean, usageProblem } from '../service/settings/error-texts.ts';
import { settingsIn } from '../service/settings/setting.ts';
import { settings } from '../service/settings/settings-table.ts';

export type Command =
  | { readonly type: 'serve' | 'help' | 'version' | 'print_config' }
  | { readonly type: SubcommandName; readonly args: readonly string[] }
  | { readonly type: 'wrong_usage'; readonly message: string };

/** The commands besides serving, with their lines in `--help`. */
const subcommands = {
  explain: 'show what becomes of a Responses request, field by field, and of a recorded answer',
  doctor: 'probe a Chat server and name the profile that fits it',
} as const;

/** Commands of the npm package that need no service (scripts/npm-bin.mjs); in a clone they are npm scripts. */
const packageCommands = {
  try: 'run the service with an Envoy and a demo server on this machine (in a clone: npm start)',
  envoy: 'run that Envoy with options of your own: envoy -c FILE (in a clone: npm run envoy -- -c FILE)',
} as const;

type SubcommandName = keyof typeof subcommands;

const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
} as const;

/** Reads the arguments behind `node` and the file. */
export function readCommand(args: readonly string[]): Command {
  const [first = '', ...rest] = args;
  if (Object.hasOwn(subcommands, first)) return { type: first as SubcommandName, args: rest };
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
    if (values.help) return { type: 'help' };
    if (values.version) return { type: 'version' };
    return { type: values['print-config'] ? 'print_config' : 'serve' };
  } catch (error) {
    const problem = first.startsWith('-') ? usageProblem(error, options) : commandProblem(first);
    return { type: 'wrong_usage', message: `${problem} Run with --help to see the options.` };
  }
}

function commandProblem(name: string): string {
  const elsewhere = Object.hasOwn(packageCommands, name)
    ? ` It is a command of the npm package; in a clone it is ${name === 'try' ? 'npm start' : 'npm run envoy'}.`
    : didYouMean(name, Object.keys({ ...subcommands, ...packageCommands }));
  return `There is no command ${name} here.${elsewhere}`;
}

export function helpText(): string {
  const variables = settingsIn(settings).map(({ variable, fallback, meaning, form }) => {
    const about = form.values === null ? meaning : `${meaning} ${form.values}`;
    return `  ${variable}${fallback === '' ? '' : ` (default ${fallback})`}\n      ${about}`;
  });
  const commands = Object.entries({ ...subcommands, ...packageCommands }).map(
    ([name, summary]) => `  ${name.padEnd(14)}  ${summary}`,
  );
  return `Usage: responses-extproc [options]
       responses-extproc COMMAND …

An Envoy ext_proc service that makes any Chat Completions server speak the OpenAI Responses API. Without a command it
serves until it is told to stop: the gRPC half, for an Envoy of yours.

Commands, each with a --help of its own:
${commands.join('\n')}

Options:
  -h, --help      show this text
  -v, --version   show the version
  --print-config  show the configuration in use as JSON, without passwords

Environment variables:
${variables.join('\n')}

Exit codes:
  0  it was told to stop, or has printed what it was asked for
  1  it cannot start
  2  wrong usage
`;
}
