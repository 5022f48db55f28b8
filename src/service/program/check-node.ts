import { nodeTooOld } from './node-version.ts';

// Imported before everything else: an old Node would fail on the first import that it lacks.
const tooOld = nodeTooOld(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(`${tooOld}\n`);
  process.exit(1);
}
