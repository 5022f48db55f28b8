import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { usageProblem } from '../../service/settings/error-texts.ts';

/** The command line cannot be followed. The message is for standard error. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** The values of a subcommand's options, and its positional arguments. Throws `UsageError`. */
export function parseOptions<Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(usageProblem(error, options));
  }
}
