import type { Terminal } from '../command-line.ts';

/** `responses-extproc doctor`: probes a Chat server. */
export async function doctor(_args: readonly string[], { stderr }: Terminal): Promise<number> {
  stderr.write('doctor is not part of this version yet.\n');
  return 2;
}
