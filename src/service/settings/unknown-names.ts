/**
 * Warns of variables whose names are almost one of ours: a misspelt setting would otherwise be silently ignored. Other
 * programs' variables are not mentioned.
 */
export function misspelt(given: Readonly<Record<string, string | undefined>>, names: readonly string[]): string[] {
  const known = new Map(names.map((ours) => [bare(ours), ours]));
  return Object.keys(given).flatMap((name) => {
    const meant = known.get(bare(name)) ?? names.find((ours) => isMisspelling(name, ours));
    const isRight = meant === undefined || meant === name || given[name] === undefined;
    return isRight ? [] : [`${name}: unknown variable; did you mean ${meant}?`];
  });
}

/** The question whether one of `words` was meant, with a space before it: one that is nearly the same. Empty if none is. */
export function didYouMean(given: string, words: readonly string[]): string {
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, '');
  const [nearest] = words
    .map((word) => ({ word, edits: editsBetween(plain(given), plain(word)) }))
    // Two edits of a short word are another word.
    .filter(({ word, edits }) => edits <= (plain(word).length < 6 ? 1 : 2))
    .toSorted((one, other) => one.edits - other.edits);
  return nearest === undefined ? '' : ` Did you mean ${nearest.word}?`;
}

function isMisspelling(name: string, ours: string): boolean {
  // Short names are words that other programs use as well, such as WORKER; another first letter is another word, as in OpenSSL's
  // SSL_CERT_FILE.
  if (ours.length < shortest || name[0] !== ours[0] || Math.abs(name.length - ours.length) > 2) return false;
  return editsBetween(name, ours) <= 2;
}

const shortest = 10;

function bare(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** Letters to insert, remove, replace or exchange with their neighbour (Damerau–Levenshtein, no letter twice). */
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
