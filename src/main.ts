import { nodeTooOld } from './node-version.ts';

// Everything else is imported after the check: an old Node would fail on the first import that it lacks.
const tooOld = nodeTooOld(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(`${tooOld}\n`);
  process.exit(1);
}
await import('./program.ts');
