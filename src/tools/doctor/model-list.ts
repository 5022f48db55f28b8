import type { Answer } from './probe-types.ts';
import type { Send } from './send-probe.ts';

/** The pause between two questions to a server that is loading its model. */
const intervalMs = 1000;

interface Patience {
  /** The seconds after which a server that accepts the connection and stays silent counts as unreachable. */
  readonly timeout: number;
  /** The seconds for which a server that is loading its model is awaited. */
  readonly limits: { readonly seconds: number };
}

interface Wait {
  /** Is called with a line for people, once for each reason to wait. */
  onProgress(line: string): void;
  isOver(): boolean;
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** Does the server say that it is still loading its model, as llama.cpp and vLLM do with a 503? */
export function isStillLoading({ status, body }: Answer): boolean {
  return status === 503 && /load/i.test(body);
}

/** The answer to the question for the list of models, once the server has loaded its model or the time is used up. */
export async function askForModels(send: Send, { timeout, limits }: Patience, wait: Wait): Promise<Answer> {
  const begun = wait.now();
  let told: string | null = null;
  for (;;) {
    const answer = await send({ path: 'models' }, { probe: 'models', index: 0 });
    const isLoading = isStillLoading(answer);
    const isSilent = answer.outcome === 'timed_out' && answer.status === 0;
    const seconds = isLoading ? limits.seconds : isSilent ? timeout : 0;
    if (wait.isOver() || wait.now() - begun >= seconds * 1000) return answer;
    const line = isLoading
      ? 'The server is loading its model; waiting …'
      : `The server takes the connection and has not answered yet. It may still be loading its model: waiting up to ${timeout} s (--timeout) …`;
    if (line !== told) wait.onProgress(line);
    told = line;
    await wait.sleep(intervalMs);
  }
}
