#!/usr/bin/env node
// `npx responses-extproc` starts the service, `npx responses-extproc explain …` and `doctor …` are its subcommands, and
// `npx responses-extproc try …` is a local mesh with Envoy, as `npm start` is. In the package these are bundles
// (scripts/build.ts); in the clone, the sources.
import { existsSync } from 'node:fs';

const [, , command] = process.argv;
if (command === 'try') process.argv.splice(2, 1);
const [source, bundle] = command === 'try' ? ['tools/mesh/main.ts', 'dist/mesh.mjs'] : ['src/main.ts', 'dist/main.js'];
const sources = new URL(`../${source}`, import.meta.url);
await import((existsSync(sources) ? sources : new URL(`../${bundle}`, import.meta.url)).href);
