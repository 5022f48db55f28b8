/**
 * How often a property is tried: as often as given in the nightly `npm run fuzz`, and a fifth of that
 * elsewhere. Each run draws anew, so what a fifth does not see today it sees in one of the next.
 */
export function runs(count: number): number {
  return process.env['PROPERTY_RUNS'] === 'all' ? count : Math.ceil(count / 5);
}
