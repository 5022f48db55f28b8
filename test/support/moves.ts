import { describe, expect, test } from 'vitest';

type Table = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Checks a table of moves: all phases can be reached from the first, and each can end. */
export function describeMoves(name: string, table: Table, start: string, ends: readonly string[]): void {
  describe(name, () => {
    const next = (phase: string): string[] => Object.values(table[phase] ?? {}).flat();
    const reach = (from: string): Set<string> => {
      const seen = new Set([from]);
      for (const phase of seen) for (const to of next(phase)) seen.add(to);
      return seen;
    };

    test('names no phase that it does not have', () => {
      for (const phase of Object.keys(table)) for (const to of next(phase)) expect(Object.keys(table)).toContain(to);
    });

    test('has a next phase for every event', () => {
      for (const [phase, events] of Object.entries(table))
        for (const [event, to] of Object.entries(events)) expect(to, `${phase}: ${event}`).not.toEqual([]);
    });

    test('can reach every phase', () => {
      expect([...reach(start)].sort()).toEqual(Object.keys(table).sort());
    });

    test('can end from every phase', () => {
      for (const phase of Object.keys(table))
        expect(
          [...reach(phase)].some((to) => ends.includes(to)),
          phase,
        ).toBe(true);
    });

    test('stays at its end', () => {
      for (const end of ends) expect([...reach(end)]).toEqual([end]);
    });
  });
}
