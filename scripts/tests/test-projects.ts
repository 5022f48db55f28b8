/**
 * Which vitest projects have the tests that a contributor names, so that a run of one file starts nothing else, such as the
 * build for test/grpc or an Envoy.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Folders of `test/` that share the project `unit`; every other folder is a project of its name. */
const unitFolders = new Set(['unit', 'golden', 'fuzz']);

/**
 * @param words arguments for vitest: paths, parts of paths and options, in any order.
 * @returns the projects of the paths, if all begin with a folder of `test/`; otherwise, or without paths, `everywhere`.
 */
export function projectsOf(words: readonly string[], everywhere: readonly string[]): readonly string[] {
  const projects = words.flatMap((word) => {
    if (word.startsWith('-')) return [];
    const folder = /^(?:\.\/)?test\/([^/]+)/.exec(word)?.[1];
    if (folder === undefined) return looksLikePath(word) ? everywhere : [];
    return [unitFolders.has(folder) ? 'unit' : folder];
  });
  return projects.length === 0 ? everywhere : [...new Set(projects)];
}

/** Arguments of `npm test`, with what they mean for vitest. */
export interface TestWords {
  /** Arguments for vitest. */
  readonly words: readonly string[];
  /** Variables of the tests. */
  readonly environment: Readonly<Record<string, string>>;
  /** The revision since which changes count, where only tests of what has changed are wanted; null for all. */
  readonly changedSince: string | null;
}

/** Takes out `--seed N`, the seed of every property, and `--changed`, since HEAD or `--changed=REVISION`. Throws for a seed that is no integer. */
export function readTestWords(words: readonly string[]): TestWords {
  const at = words.findIndex((word) => /^--seed(=|$)/.test(word));
  const [option = '', next = ''] = at < 0 ? [] : words.slice(at);
  const joined = option.startsWith('--seed=');
  const seed = joined ? option.slice('--seed='.length) : next;
  if (at >= 0 && !/^-?\d+$/.test(seed)) throw new Error(`--seed takes an integer, not "${seed}".`);
  const others = at < 0 ? words : words.toSpliced(at, joined ? 1 : 2);
  const changed = others.find((word) => /^--changed(=|$)/.test(word));
  return {
    words: others.filter((word) => word !== changed),
    environment: at < 0 ? {} : { FAST_CHECK_SEED: seed },
    changedSince: changed === undefined ? null : changed.slice('--changed='.length) || 'HEAD',
  };
}

/** Not the value of an option, such as the `Hi` of `-t Hi`. */
function looksLikePath(word: string): boolean {
  return word.includes('/') || statSync(join(root, word), { throwIfNoEntry: false }) !== undefined;
}
