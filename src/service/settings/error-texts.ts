/** Returns the message of an error, or anything else that was thrown as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns what `parseArgs` says is wrong, without its advice; for an unknown option, which of `options` may be meant. */
export function usageProblem(error: unknown, options: object): string {
  const problem = `${messageOf(error).split('. ', 1)[0]}.`;
  const unknown = /^Unknown option '(--[^']+)'/.exec(problem)?.[1];
  const known = Object.keys(options).map((name) => `--${name}`);
  return unknown === undefined ? problem : problem + didYouMean(unknown, known);
}

/** Finds variables whose names are nearly a setting's, which would be ignored silently. Variables of other programs are not mentioned. */
export function findMisspelt(given: Readonly<Record<string, string | undefined>>, names: readonly string[]): string[] {
  const known = new Map(names.map((ours) => [bare(ours), ours]));
  return Object.keys(given).flatMap((name) => {
    const meant = known.get(bare(name)) ?? names.find((ours) => isMisspelling(name, ours));
    const isRight = meant === undefined || meant === name || given[name] === undefined;
    return isRight ? [] : [`${name}: unknown variable; did you mean ${meant}?`];
  });
}

/** Writes the question, behind a space, whether the nearest of `words` was meant; empty if none is nearly the same. */
export function didYouMean(given: string, words: readonly string[]): string {
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '');
  const [nearest] = words
    .map((word) => ({ word, edits: editsBetween(plain(given), plain(word)) }))
    // Two edits make another word of a short one.
    .filter(({ word, edits }) => edits <= (plain(word).length < 6 ? 1 : 2))
    .toSorted((one, other) => one.edits - other.edits);
  return nearest === undefined ? '' : ` Did you mean ${nearest.word}?`;
}

function isMisspelling(name: string, ours: string): boolean {
  // Other programs use short names as well, such as WORKER; another first letter makes another name, such as OpenSSL's SSL_CERT_FILE.
  if (ours.length < shortest || name[0] !== ours[0] || Math.abs(name.length - ours.length) > 2) return false;
  return editsBetween(name, ours) <= 2;
}

const shortest = 10;

function bare(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** Counts the letters to insert, remove, replace or exchange with their neighbour (Damerau–Levenshtein, no letter twice). */
export function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const differs = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + differs);
      if (one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = previous;
    previous = row;
  }
  return previous[other.length] ?? 0;
}
