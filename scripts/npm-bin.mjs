#!/usr/bin/env node
// `npx responses-extproc` starts the service, `npx responses-extproc explain …` and `doctor …` are its subcommands,
// `npx responses-extproc try …` is a local mesh with Envoy, as `npm start` is, and `npx responses-extproc envoy …` is that Envoy
// alone. In the package these are bundles (scripts/build.ts); in the clone, the sources.
import { existsSync } from 'node:fs';

const [, , command] = process.argv;
const isMesh = command === 'try' || command === 'envoy';
if (command === 'try') process.argv.splice(2, 1);
await run('src/program/check-node.ts', 'dist/check-node.js');
if (isMesh) await run('mesh/main.ts', 'dist/mesh.mjs');
else await run('src/main.ts', 'dist/main.js');

async function run(source, bundle) {
  const sources = new URL(`../${source}`, import.meta.url);
  await import((existsSync(sources) ? sources : new URL(`../${bundle}`, import.meta.url)).href);
}
