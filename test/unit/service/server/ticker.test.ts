import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTicker, type TickListener } from '../../../../src/service/server/ticker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listenersOf(names: string, onTick: (name: string) => void): TickListener[] {
  return [...names].map((name) => ({ tickSlot: -1, tick: () => onTick(name) }));
}

test('calls those that are in it, however they came and left', () => {
  const ticker = createTicker(100);
  const ticked: string[] = [];
  const [a, b, c, d] = listenersOf('abcd', (name) => ticked.push(name)) as [TickListener, ...TickListener[]];
  const seen = () => {
    vi.advanceTimersByTime(100);
    return ticked.splice(0).sort().join('');
  };
  for (const one of [a, b, c, d]) if (one !== undefined) ticker.add(one);
  expect(seen()).toBe('abcd');
  ticker.remove(a);
  ticker.remove(a); // has left already
  expect(seen()).toBe('bcd');
  if (d !== undefined) ticker.remove(d);
  ticker.add(a);
  expect(seen()).toBe('abc');
  for (const one of [a, b, c]) if (one !== undefined) ticker.remove(one);
  expect(seen()).toBe('');
  ticker.stop();
});

test('calls the others when some leave as they are called', () => {
  const ticker = createTicker(100);
  const ticked = new Set<string>();
  const all = listenersOf('abcdef', (name) => {
    ticked.add(name);
    if ('bcf'.includes(name)) ticker.remove(all['abcdef'.indexOf(name)] as TickListener);
  });
  for (const one of all) ticker.add(one);
  vi.advanceTimersByTime(100);
  expect([...ticked].sort().join('')).toBe('abcdef');
  ticked.clear();
  vi.advanceTimersByTime(100);
  expect([...ticked].sort().join('')).toBe('ade');
  ticker.stop();
});
