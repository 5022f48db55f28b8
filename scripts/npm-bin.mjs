#!/usr/bin/env node
// `npx responses-extproc` starts the service; `npx responses-extproc try …` a local mesh with Envoy, as `npm start` does.
// In the package these are JavaScript (scripts/npm-package.ts); here they are not there.
const [, , command] = process.argv;
if (command === 'try') process.argv.splice(2, 1);
await import(new URL(command === 'try' ? '../tools/mesh/main.js' : '../src/main.js', import.meta.url).href);
