import type { Terminal } from '../command-line.ts';

/** `responses-extproc explain`: shows what becomes of a request. */
export async function explain(_args: readonly string[], { stderr }: Terminal): Promise<number> {
  stderr.write('explain is not part of this version yet.\n');
  return 2;
}
