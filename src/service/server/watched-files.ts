import { readFileSync } from 'node:fs';

/** Called once for a change: with null, or with why the files cannot be used, so that what was taken before stays in use. */
export type OnChanged = (problem: Error | null) => void;

/**
 * Has `take` use the content of the files, now and after each change; it throws where that cannot be. Content is compared, because
 * Kubernetes replaces a mounted file by moving a symbolic link, which file watchers miss. Throws what is wrong with the files
 * at the start.
 */
export function watchFiles(
  paths: readonly string[],
  take: (contents: readonly Buffer[]) => void,
  onChanged: OnChanged,
  intervalMs = 10_000,
) {
  /** Null after a failure to read them: then whatever is there next counts as changed. */
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
      // A file that cannot be read is reported once, not at every look.
      if (found !== null || error.message !== problem) onChanged(error);
      problem = error.message;
    } finally {
      seen = found;
    }
  }

  const timer = setInterval(reload, intervalMs).unref();
  return {
    /** Why the files as they are now cannot be used, so that an earlier content is; null if they can. */
    problem: () => problem,
    /** Reads the files now. */
    reload,
    /** Stops watching them. */
    close: () => clearInterval(timer),
  };
}

/** Reads the files, in the order of their paths. Throws what `readFileSync` throws. */
export function readFiles(paths: readonly string[]): readonly Buffer[] {
  return paths.map((path) => readFileSync(path));
}
