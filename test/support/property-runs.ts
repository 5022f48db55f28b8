/**
 * How often a property is tried: as often as given in the nightly `npm test -- fuzz`, which draws new cases each time, and a fifth of
 * that elsewhere.
 */
export function runs(count: number): number {
  return process.env['PROPERTY_RUNS'] === 'all' ? count : Math.ceil(count / 5);
}
