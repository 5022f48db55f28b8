import { Readable, Writable } from 'node:stream';
import type { Subcommand } from '../../src/tools/cli/terminal.ts';

/** How a subcommand ended: its exit code and what it wrote. */
export interface SubcommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a subcommand in this process, under this environment alone and with `input` on its standard input; none is a terminal. */
export async function runSubcommand(
  subcommand: Subcommand,
  args: readonly string[],
  { env = {}, input = '' }: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<SubcommandRun> {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err') =>
    new Writable({
      write(piece, _encoding, done) {
        written[name] += String(piece);
        done();
      },
    }) as NodeJS.WriteStream;
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)]) as NodeJS.ReadStream;
  const code = await subcommand(args, { env, stdin, stdout: sink('out'), stderr: sink('err') });
  return { code, ...written };
}
