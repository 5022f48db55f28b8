import { Writable } from 'node:stream';
import { doctor } from '../../src/doctor/command.ts';

/** Runs the subcommand in this process: its exit code and what it wrote. */
export async function runDoctor(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err') =>
    new Writable({
      write(piece, _encoding, done) {
        written[name] += String(piece);
        done();
      },
    }) as NodeJS.WriteStream;
  const code = await doctor(args, { env, stdin: process.stdin, stdout: sink('out'), stderr: sink('err') });
  return { code, ...written };
}

/** The report that `--json` prints, as far as tests look at it. */
export interface DoctorReport {
  readonly stopped: string | null;
  readonly verdict: { readonly outcome: string; readonly failing: readonly string[] };
  readonly findings: readonly {
    readonly probe: string;
    readonly result: string;
    readonly detail: string;
    readonly means: string | null;
  }[];
  readonly profile: {
    readonly name: string;
    readonly extends: string;
    readonly flags: readonly { readonly flag: string; readonly value: unknown; readonly from: string }[];
    readonly file: string;
  } | null;
  readonly warnings: readonly string[];
  readonly spent: { readonly requests: number; readonly inputTokens: number; readonly outputTokens: number };
}

/** Runs it with `--json`. */
export async function runDoctorJson(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; report: DoctorReport; err: string }> {
  const { code, out, err } = await runDoctor([...args, '--json'], env);
  return { code, report: JSON.parse(out) as DoctorReport, err };
}
