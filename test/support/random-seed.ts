import fc from 'fast-check';

/**
 * A setup file. Every run of the property tests has the same cases, so that none is red by chance; `npm test -- fuzz` and
 * `npm test -- repeat` look for others. `FAST_CHECK_SEED` is another seed; a failure prints its own, with the smallest case found.
 */
const draws = process.env['PROPERTY_RUNS'] === 'all';
const seed = process.env['FAST_CHECK_SEED'] ?? (draws ? undefined : '1');
if (seed !== undefined) {
  if (!/^-?\d+$/.test(seed)) throw new Error(`FAST_CHECK_SEED is an integer, not "${seed}".`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}
