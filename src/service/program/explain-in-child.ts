import { spawn } from 'node:child_process';

/** What one explanation may take. */
export interface ExplainLimits {
  /** `explain` runs a request some hundred times: of a long one that takes seconds. */
  readonly timeoutMs: number;
  /** What it says repeats the request and the Chat request, field by field. */
  readonly maxOutputBytes: number;
}

const usualLimits: ExplainLimits = { timeoutMs: 30_000, maxOutputBytes: 64 * 1024 * 1024 };
const maxHeapMiB = 256;

/**
 * Has `explain --json` explain an exchange, given as its file's JSON, in a process of its own: neither its work nor its
 * memory is the service's. Resolves with what it writes. Rejects with what it says where it could not, when it takes too
 * long, and when the signal aborts.
 */
export function explainInChild(
  exchange: string,
  signal: AbortSignal,
  { timeoutMs, maxOutputBytes } = usualLimits,
  program = process.argv[1] ?? '',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [`--max-old-space-size=${maxHeapMiB}`, program, 'explain', '--json'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      signal,
    });
    const written: Buffer[] = [];
    let size = 0;
    let problem = '';
    child.stdout.on('data', (piece: Buffer) => {
      size += piece.length;
      if (size <= maxOutputBytes) written.push(piece);
      else child.kill('SIGKILL');
    });
    child.stderr.on('data', (piece: Buffer) => {
      problem = (problem + piece.toString()).slice(0, 4096);
    });
    child.once('error', reject);
    child.once('close', (code, ended) => {
      if (size > maxOutputBytes) reject(new Error(`The explanation is longer than ${maxOutputBytes} bytes.`));
      else if (ended !== null)
        reject(new Error(`Explaining it took longer than ${timeoutMs / 1000} s, or too much memory.`));
      else if (size === 0) reject(new Error(problem.trim() || `explain ended with ${code}.`));
      else resolve(Buffer.concat(written).toString());
    });
    child.stdin.on('error', () => {}); // it ended before it had read all: its own words say why
    child.stdin.end(exchange);
  });
}
