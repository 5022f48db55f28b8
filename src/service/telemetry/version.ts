import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

/** The version in package.json, which is at the same place from sources and from `dist/`. */
export const version: string = manifest.version;

/** The repository's URL for a browser, if package.json names one, as the published package's does. */
export const repository: string | null = manifest.repository?.url?.replace(/^git\+/, '').replace(/\.git$/, '') ?? null;
