import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { knownTypes } from '../../../../src/filter/translate/known-types.ts';
import { partTypes } from '../../../../src/filter/translate/request-to-chat/parse/parse-content.ts';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { blockOf, goldenCases } from '../../../support/golden.ts';
import { createTestSettings } from '../../../support/settings.ts';

/**
 * A type of item, part or tool that the code knows and nobody was told of: it has no golden case, no row in docs/mapping.md, or
 * no place in the list that a refused type is answered with.
 */
const root = new URL('../../../../', import.meta.url);
const mapping = readFileSync(new URL('docs/mapping.md', root), 'utf8');
const requests = goldenCases('request')
  .map((golden) => blockOf(golden, 'request') ?? '')
  .join('\n');

/** The types that the error of an unknown one lists. */
function listedFor(body: object): string[] {
  const settings = createTestSettings({ unknownItems: 'reject' });
  try {
    translateRequest({ model: 'm', ...body }, settings, { now: () => 1, newId: createCountedIds() });
  } catch (thrown) {
    const { message } = thrown as Error;
    return message.slice(message.indexOf('Supported')).match(/(?<=')\w+(?=')/g) ?? [];
  }
  throw new Error('The unknown type was not refused.');
}

const kinds = [
  {
    kind: 'part',
    types: [...partTypes.keys()],
    listed: listedFor({ input: [{ role: 'user', content: [{ type: 'nobody_knows' }] }] }),
  },
  {
    kind: 'tool',
    types: [...knownTypes.tools.keys()],
    listed: listedFor({ input: 'x', tools: [{ type: 'nobody_knows' }] }),
  },
];

describe.each(kinds)('every type of $kind', ({ kind, types, listed }) => {
  it.each(types)('%s has a case in test/golden/request-*.md', (type) => {
    expect(requests.includes(`"type": "${type}"`), `Write a case with a ${kind} of the type "${type}".`).toBe(true);
  });

  it.each(types)('%s has a row in docs/mapping.md', (type) => {
    expect(mapping.includes(`\`${type}\``), `Say in docs/mapping.md what becomes of a ${kind} \`${type}\`.`).toBe(true);
  });

  it.each(types)('%s is in the list that an unknown type is answered with', (type) => {
    expect(listed, `The error for an unknown ${kind} should offer '${type}'.`).toContain(type);
  });

  it('and no other is listed', () => {
    expect(listed.filter((type) => !types.includes(type))).toEqual([]);
  });
});

it.each([...knownTypes.items.keys()])('the item %s has a row in docs/mapping.md', (type) => {
  expect(mapping.includes(`\`${type}\``), `Say in docs/mapping.md what becomes of an item \`${type}\`.`).toBe(true);
});
