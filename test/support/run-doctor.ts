import { doctor } from '../../src/tools/doctor/doctor-command.ts';
import { runSubcommand, type SubcommandRun } from './run-subcommand.ts';

/** Runs the subcommand in this process: its exit code and what it wrote. */
export function runDoctor(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<SubcommandRun> {
  return runSubcommand(doctor, args, { env });
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
