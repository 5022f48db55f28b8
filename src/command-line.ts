import { parseArgs } from 'node:util';
import { describeVariables } from './config.ts';

/** What the process was asked to do; `wrong_usage` has the message for standard error. */
export type Command =
  | { readonly type: 'serve' | 'help' | 'version' | 'print_config' }
  | { readonly type: 'wrong_usage'; readonly message: string };

const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
} as const;

/** Reads the command line (without `node` and the file). A flag that is not known is wrong usage, never ignored. */
export function readCommand(args: readonly string[]): Command {
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
    if (values.help) return { type: 'help' };
    if (values.version) return { type: 'version' };
    return { type: values['print-config'] ? 'print_config' : 'serve' };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ', 1)[0] : String(error);
    return { type: 'wrong_usage', message: `${reason}. Run with --help to see the options.` };
  }
}

/** The text of `--help`: the options, and every environment variable with its default. */
export function helpText(): string {
  const variables = describeVariables().map(
    ({ name, fallback, meaning }) => `  ${name}${fallback === '' ? '' : ` (default ${fallback})`}\n      ${meaning}`,
  );
  return `Usage: node dist/main.js [options]

An Envoy ext_proc service that makes any Chat Completions server speak the OpenAI Responses API.

Options:
  -h, --help      show this text
  -v, --version   show the version
  --print-config  show the configuration in use as JSON, without passwords

Environment variables:
${variables.join('\n')}
`;
}
