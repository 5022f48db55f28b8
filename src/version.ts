import { readFileSync } from 'node:fs';

/** This service's version, as package.json says; the same from sources and from `dist/`. */
export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
