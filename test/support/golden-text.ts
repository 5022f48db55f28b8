import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** The texts that stand in a folder of `test/golden`; `vitest -u` writes them anew. */
export function goldenTexts(folder: string) {
  const at = new URL(`../golden/${folder}/`, import.meta.url);
  return {
    /** Fails unless the file of that name has this text, letter by letter. */
    expect: (name: string, text: string) => expect(text).toMatchFileSnapshot(fileURLToPath(new URL(name, at))),
    /** The names of all files that are there. */
    names: () => readdirSync(at).toSorted(),
  };
}
