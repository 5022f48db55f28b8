import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../../../src/service/server/exchanges.ts';

afterEach(() => vi.useRealTimers());

describe('ids', () => {
  it('have 32 hexadecimal digits, the second half random', () => {
    const ids = Array.from({ length: 2000 }, () => newId('fc'));
    for (const id of ids) expect(id).toMatch(/^fc_[0-9a-f]{32}$/);
    expect(new Set(ids.map((id) => id.slice(-16))).size).toBe(ids.length);
  });

  it('sort in the order they were made, in one millisecond, over many and when the clock is set back', () => {
    vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ['Date'] });
    const ids = Array.from({ length: 70_000 }, () => newId('fc'));
    vi.setSystemTime(1_700_000_000_000);
    ids.push(...Array.from({ length: 10 }, () => newId('fc')));
    vi.setSystemTime(1_800_000_001_000);
    ids.push(newId('fc'));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
