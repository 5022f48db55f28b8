/** A subcommand: takes its own arguments, writes to the terminal it is given, and resolves to the exit code. */
export type Subcommand = (args: readonly string[], terminal: Terminal) => Promise<number>;

/** The parts of the process that a subcommand gets. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}
