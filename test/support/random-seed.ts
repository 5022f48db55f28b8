import fc from 'fast-check';

/**
 * A setup file: `FAST_CHECK_SEED` is the seed of every property test, so that a failed run can be repeated. Without
 * it each property draws its own seed; a failure prints it, with the smallest case found.
 */
const seed = process.env['FAST_CHECK_SEED'];
if (seed !== undefined) {
  if (!/^-?\d+$/.test(seed)) throw new Error(`FAST_CHECK_SEED is an integer, not "${seed}".`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}
