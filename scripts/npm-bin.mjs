#!/usr/bin/env node
// `npx responses-extproc` starts the service, `npx responses-extproc explain …` and `doctor …` are its subcommands, and
// `npx responses-extproc try …` is a local mesh with Envoy, as `npm start` is. In the package these are JavaScript, beside
// this file's folder (scripts/npm-package.ts); in the clone, the TypeScript they are made from.
import { existsSync } from 'node:fs';

const [, , command] = process.argv;
if (command === 'try') process.argv.splice(2, 1);
const program = command === 'try' ? '../tools/mesh/main' : '../src/main';
const [compiled, source] = ['js', 'ts'].map((extension) => new URL(`${program}.${extension}`, import.meta.url));
await import((existsSync(compiled) ? compiled : source).href);
