import { describe, expect, it } from 'vitest';
import type { ExchangeRow } from '../../../../../src/tools/inspect/exchange-json.ts';
import { groupConversations } from '../../../../../src/tools/inspect/view/group-round-trips.ts';
import { compareRoundTrips } from '../../../../../src/tools/inspect/view/round-trip-changes.ts';

function row(id: number, more: Partial<ExchangeRow> = {}): ExchangeRow {
  const tokens = { input_tokens: 1000 * id, cached_tokens: 500, output_tokens: 100 };
  return { id, started_at: 10_000 * id, duration_ms: 2000, model: 'm', tokens, ...more } as ExchangeRow;
}

const roundTrip = (id: number, parent: number | null) =>
  row(id, { link: { parent, messages: 1, kept_messages: 1, differs_at: null } });

describe('conversations', () => {
  it('are round trips that continue one another, with what they took together; one round trip alone is none', () => {
    const rows = [
      roundTrip(1, null),
      roundTrip(2, 1),
      roundTrip(3, 2),
      roundTrip(4, null),
      roundTrip(5, 99),
      roundTrip(6, 5),
      row(7, { link: null }),
    ];
    const found = groupConversations(rows);
    expect(found.map(({ id, roundTrips }) => [id, ...roundTrips.map(({ row }) => row.id)])).toEqual([
      [5, 5, 6],
      [1, 1, 2, 3],
    ]);
    expect(found[1]).toMatchObject({ input: 6000, cached: 1500, output: 300, start: 10_000, end: 32_000 });
  });
});

describe('what changed from round trip to round trip', () => {
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
    expect(compareRoundTrips(first, later)).toEqual({
      difference: null,
      changed: ['temperature'],
    });
  });

  it('and the very place at which the prompt parts', () => {
    const [, hi] = first.messages;
    const later = { ...first, messages: [{ role: 'system', content: 'It is night.' }, hi] };
    expect(compareRoundTrips(first, later).difference).toEqual({
      path: 'messages[0].content',
      character: 7,
      before: 'It is noon.',
      after: 'It is night.',
    });
    expect(compareRoundTrips(first, { ...first, tools: [{ type: 'a' }] }).difference).toMatchObject({
      path: 'tools',
      before: '',
    });
    const shorter = { ...first, messages: first.messages.slice(0, 1) };
    expect(compareRoundTrips(first, shorter).difference).toMatchObject({ path: 'messages[1]', after: '' });
    expect(compareRoundTrips(null, first)).toMatchObject({ difference: { path: 'model' } });
  });

  it('shows a long text around that place', () => {
    const long = (end: string) => ({
      messages: [{ role: 'user', content: `${'x'.repeat(5000)}${end}${'y'.repeat(5000)}` }],
    });
    const { difference } = compareRoundTrips(long('a'), long('b'));
    expect(difference).toMatchObject({ character: 5000, before: expect.stringMatching(/^…x{20}ay+…$/) });
  });
});
