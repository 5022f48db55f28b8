import { didYouMean } from './unknown-names.ts';

/** Returns the message of an error; anything else that was thrown as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns what `parseArgs` says is wrong, without its advice; for an unknown option, which of `options` may be meant. */
export function usageProblem(error: unknown, options: object): string {
  const problem = `${messageOf(error).split('. ', 1)[0]}.`;
  const unknown = /^Unknown option '--([^']+)'/.exec(problem)?.[1];
  return unknown === undefined
    ? problem
    : `${problem}${didYouMean(
        `--${unknown}`,
        Object.keys(options).map((name) => `--${name}`),
      )}`;
}
