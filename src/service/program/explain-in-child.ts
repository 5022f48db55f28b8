import { execFile } from 'node:child_process';

/**
 * Limits of one explanation. `explain` runs a request some hundred times: of a long one that takes seconds. What it says
 * repeats the request and the Chat request, field by field.
 */
const usualLimits = { timeoutMs: 30_000, maxOutputBytes: 64 * 1024 * 1024 };
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
    const args = [`--max-old-space-size=${maxHeapMiB}`, program, 'explain', '--json'];
    const limits = { timeout: timeoutMs, maxBuffer: maxOutputBytes, killSignal: 'SIGKILL', signal } as const;
    const child = execFile(process.execPath, args, limits, (error, written, problem) => {
      if (error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
        reject(new Error(`The explanation is longer than ${maxOutputBytes} bytes.`));
      else if (error?.signal)
        reject(new Error(`Explaining it took longer than ${timeoutMs / 1000} s, or too much memory.`));
      else if (error !== null && (written === '' || error.name === 'AbortError'))
        reject(new Error(problem.slice(0, 4096).trim() || error.message));
      else resolve(written);
    });
    child.stdin?.on('error', () => {}); // it ended before it had read all: its own words say why
    child.stdin?.end(exchange);
  });
}
