/**
 * Which vitest projects have the tests that a contributor names, so that a run of one file starts nothing else, such as the
 * build for test/grpc or an Envoy.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

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

/** Not the value of an option, such as the `Hi` of `-t Hi`. */
function looksLikePath(word: string): boolean {
  return word.includes('/') || statSync(join(root, word), { throwIfNoEntry: false }) !== undefined;
}
