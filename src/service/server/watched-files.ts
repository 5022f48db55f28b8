import { readFileSync } from 'node:fs';

/** Called once for a change of files. With a problem, their earlier contents stay in use. */
export type OnChanged = (problem: Error | null) => void;

/**
 * Passes the contents of the files to `take`, now and after each change. If reading or `take` fails, throws the error now, and passes
 * it to `onChanged` later. Contents are compared, because Kubernetes replaces a mounted file by moving a symbolic link, which file
 * watchers miss.
 */
export function watchFiles(
  paths: readonly string[],
  take: (contents: readonly Buffer[]) => void,
  onChanged: OnChanged,
  intervalMs = 10_000,
) {
  /** Null after a failed read, so that whatever is read next counts as a change. */
  let seen: readonly Buffer[] | null = readFiles(paths);
  let problem: string | null = null;
  take(seen);

  function reload(): void {
    let found: readonly Buffer[] | null = null;
    try {
      found = readFiles(paths);
      if (seen !== null && found.every((bytes, index) => seen?.[index]?.equals(bytes))) return;
      take(found);
      problem = null;
      onChanged(null);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      // A file that cannot be read is reported once, not at every read.
      if (found !== null || error.message !== problem) onChanged(error);
      problem = error.message;
    } finally {
      seen = found;
    }
  }

  const timer = setInterval(reload, intervalMs).unref();
  return {
    /** Returns why the present contents cannot be used, and earlier contents are; null if they can. */
    problem: () => problem,
    reload,
    close: () => clearInterval(timer),
  };
}

export function readFiles(paths: readonly string[]): readonly Buffer[] {
  return paths.map((path) => readFileSync(path));
}
