import { expect, it } from 'vitest';
import { buildExplainedBodies } from '../../../../../src/tools/inspect/view/explained.ts';

const why = { causes: [], rule: 'A rule.', link: 'docs/mapping.md' };
const field = (name: string, fate: 'sent' | 'renamed' | 'dropped', to: readonly string[], dropped: string[] = []) => ({
  ...why,
  field: name,
  fate,
  becomes: to.map((path) => ({ path, value: null })),
  in_response: [],
  dropped,
});

it('what was dropped of a field is marked in it, also where the name means that of every tool', () => {
  const { client } = buildExplainedBodies({
    refusals: [],
    fields: [
      field('model', 'sent', ['model']),
      field('input[0]', 'renamed', ['messages[0]'], ['input[0].id']),
      field('tools[0]', 'renamed', ['tools[0]'], ['tools[].strict']),
      field('tools[1]', 'dropped', [], ['tools[1].web_search']),
    ],
    added: [],
  });
  const shown = [...client].map(([path, { mark, note }]) => [path, { mark, note }] as const);
  expect(Object.fromEntries(shown)).toEqual({
    model: { mark: 'same', note: null },
    'input[0]': { mark: 'moved', note: '→ messages[0], in part' },
    'input[0].id': { mark: 'dropped', note: null },
    'tools[0]': { mark: 'moved', note: '→ tools[0], in part' },
    'tools[0].strict': { mark: 'dropped', note: null },
    'tools[1]': { mark: 'dropped', note: 'dropped' },
    'tools[1].web_search': { mark: 'dropped', note: null },
  });
  // What a click on it says.
  const said = (path: string) => client.get(path)?.account?.fate;
  expect(said('input[0]')).toMatch(/, without input\[0\]\.id$/);
  expect(said('tools[1]')).not.toContain('without');
  expect(said('model')).not.toContain('without');
});

it('of many places of a field the first is named, and the others are counted', () => {
  const noteOf = (to: readonly string[]) =>
    buildExplainedBodies({ refusals: [], fields: [field('input', 'renamed', to)], added: [] }).client.get('input')
      ?.note;
  expect(noteOf(['messages[0]', 'messages[1]'])).toBe('→ messages[0], messages[1]');
  expect(noteOf(['messages[0]', 'messages[1]', 'messages[2]'])).toBe('→ messages[0] and 2 more');
});
