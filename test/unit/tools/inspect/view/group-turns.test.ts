import { describe, expect, it } from 'vitest';
import type { ExchangeRow } from '../../../../../src/tools/inspect/exchange-json.ts';
import { groupConversations } from '../../../../../src/tools/inspect/view/group-turns.ts';
import { compareTurns } from '../../../../../src/tools/inspect/view/turn-changes.ts';

function row(id: number, more: Partial<ExchangeRow> = {}): ExchangeRow {
  const tokens = { input_tokens: 1000 * id, cached_tokens: 500, output_tokens: 100 };
  return { id, started_at: 10_000 * id, duration_ms: 2000, model: 'm', tokens, ...more } as ExchangeRow;
}

const turn = (id: number, parent: number | null) =>
  row(id, { turn: { parent, messages: 1, kept_messages: 1, differs_at: null } });

describe('conversations', () => {
  it('are turns that continue one another, with what they took together; one turn alone is none', () => {
    const rows = [
      turn(1, null),
      turn(2, 1),
      turn(3, 2),
      turn(4, null),
      turn(5, 99),
      turn(6, 5),
      row(7, { turn: null }),
    ];
    const found = groupConversations(rows);
    expect(found.map(({ id, turns }) => [id, ...turns.map(({ row }) => row.id)])).toEqual([
      [5, 5, 6],
      [1, 1, 2, 3],
    ]);
    expect(found[1]).toMatchObject({ input: 6000, cached: 1500, output: 300, start: 10_000, end: 32_000 });
  });
});

describe('what changed from turn to turn', () => {
  const first = {
    model: 'm',
    temperature: 0.5,
    messages: [
      { role: 'system', content: 'It is noon.' },
      { role: 'user', content: 'Hi' },
    ],
  };

  it('is no difference where the prompt goes on, but the fields that differ', () => {
    const call = { function: { name: 'get_weather', arguments: '{}' } };
    const messages = [
      ...first.messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: [{ type: 'text', text: 'sunny' }] },
    ];
    const later = { ...first, temperature: 0.7, messages };
    expect(compareTurns(first, later)).toEqual({
      difference: null,
      changed: ['temperature'],
    });
  });

  it('and the very place at which the prompt parts', () => {
    const [, hi] = first.messages;
    const later = { ...first, messages: [{ role: 'system', content: 'It is night.' }, hi] };
    expect(compareTurns(first, later).difference).toEqual({
      path: 'messages[0].content',
      character: 7,
      before: 'It is noon.',
      after: 'It is night.',
    });
    expect(compareTurns(first, { ...first, tools: [{ type: 'a' }] }).difference).toMatchObject({
      path: 'tools',
      before: '',
    });
    const shorter = { ...first, messages: first.messages.slice(0, 1) };
    expect(compareTurns(first, shorter).difference).toMatchObject({ path: 'messages[1]', after: '' });
    expect(compareTurns(null, first)).toMatchObject({ difference: { path: 'model' } });
  });

  it('shows a long text around that place', () => {
    const long = (end: string) => ({
      messages: [{ role: 'user', content: `${'x'.repeat(5000)}${end}${'y'.repeat(5000)}` }],
    });
    const { difference } = compareTurns(long('a'), long('b'));
    expect(difference).toMatchObject({ character: 5000, before: expect.stringMatching(/^…x{20}ay+…$/) });
  });
});
