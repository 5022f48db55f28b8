import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Profile } from '../../../src/upstream/profile.ts';
import { profileNames, profileOf } from '../../../src/upstream/profiles.ts';

const text = readFileSync(new URL('../../../docs/upstreams.md', import.meta.url), 'utf8');
const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
);
const generic = rowOf('generic');

describe('docs/upstreams.md', () => {
  it('has a section for every profile, in the order of the code, and no other', () => {
    expect([...sections.keys()]).toEqual(profileNames);
  });

  it.each(profileNames)('says in what %s differs from generic, and why', (name) => {
    const rows = [...(sections.get(name) ?? '').matchAll(/^\| `(\w+)` \| `(.*)` \| (.+) \|$/gm)];
    const said = rows.map(([, flag, value]) => [flag, value?.replaceAll('\\|', '|')]);
    const differences = Object.entries(rowOf(name)).filter(
      ([flag, value]) => flag !== 'name' && value !== generic[flag],
    );
    expect(said).toEqual(differences);
    for (const [, flag, , why] of rows) expect(why?.length, flag).toBeGreaterThan(5);
  });
});

/** The row with each value as JSON; patterns as their source. */
function rowOf(name: string): Record<string, string> {
  const profile = profileOf(name) as Profile; // the names come from the same table
  const asText = (_key: string, value: unknown) => (value instanceof RegExp ? String(value) : value);
  return Object.fromEntries(Object.entries(profile).map(([flag, value]) => [flag, JSON.stringify(value, asText)]));
}
