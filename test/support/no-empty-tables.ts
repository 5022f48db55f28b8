import { describe, it } from 'vitest';

/**
 * A setup file of every project: `it.each` and `describe.each` over an empty list throw, so that the file fails. Without it
 * a table whose rows come from a folder, a page or the code registers no test when it finds nothing, and the file passes. Loops
 * inside a test are covered by `requireAssertions` in vitest.config.ts.
 */
const checked = Symbol.for('no-empty-tables');

for (const api of [describe, it] as unknown as EachApi[]) {
  const { each } = api;
  if (checked in each) continue; // modules are shared where files are not isolated
  api.each = Object.assign(
    function (this: EachApi, cases: unknown, ...rest: unknown[]): unknown {
      if (Array.isArray(cases) && cases.length === 0) throw new Error('a table of tests has no rows');
      return each.call(this, cases, ...rest);
    },
    { [checked]: true },
  );
}

interface EachApi {
  each: (this: EachApi, cases: unknown, ...rest: unknown[]) => unknown;
}
