import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { usageProblem } from '../../service/settings/error-texts.ts';

/** A subcommand: takes its own arguments, writes to the terminal it is given, and resolves to the exit code. */
export type Subcommand = (args: readonly string[], terminal: Terminal) => Promise<number>;

/** The parts of the process that a subcommand gets. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

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
