import { expect, test } from 'vitest';
import type { CollectionKind } from '../../../src/service/memory/heap.ts';
import { OverloadGuard } from '../../../src/service/memory/overload.ts';
import { docTables } from '../../support/doc-tables.ts';

const MiB = 1024 * 1024;

/** What the words of the table in docs/operating.md (Sizing) stand for. */
const actions: Readonly<Record<string, RegExp>> = {
  collect: /garbage is collected|until a collection/i,
  'give back': /are given back/,
  pause: /are paused/,
  evict: /conversations are evicted/i,
  refuse: /(?:is|are) refused with 503/,
  cut: /are cut/,
};

const rows = docTables.find(([, , [heads]]) => heads?.[0]?.includes('the process uses more than'))?.[2].slice(1) ?? [];

/** What a row says is done, in its order. */
function toldIn(row: string): string[] {
  const found = Object.entries(actions).map(([name, words]) => [name, row.search(words)] as const);
  return found
    .filter(([, at]) => at !== -1)
    .toSorted(([, one], [, other]) => one - other)
    .map(([name]) => name);
}

/** The shares at which a row begins, by what they are of. */
function sharesIn(row: string): { memory: number; heap: number | null } {
  const heap = /(\d+) % of the heap/.exec(row)?.[1];
  const memory = /(\d+) % of the memory/.exec(row)?.[1];
  return { memory: Number(memory) / 100, heap: heap === undefined ? null : Number(heap) / 100 };
}

/** A guard of a process with these shares in use, of which no collection frees anything, and what it does, once each. */
function guardOf(shares: { memory: number; heap: number }) {
  const done: string[] = [];
  const note = (action: string) => {
    if (!done.includes(action)) done.push(action);
  };
  const clock = { ms: 0, mayCollect: true };
  const heap = {
    limit: 1000 * MiB,
    live: shares.heap * 1000 * MiB,
    // All but what is live may be empty.
    pages: () => shares.memory * 1000 * MiB,
    collect(kind: CollectionKind) {
      if (clock.mayCollect) note(kind === 'give_back' ? 'give back' : 'collect');
      return clock.mayCollect;
    },
  };
  const resident = { limit: 1000 * MiB, bytes: () => shares.memory * 1000 * MiB };
  const guard = new OverloadGuard(
    { maxExchanges: 0, maxBufferedBytes: 0 },
    heap,
    () => {},
    resident,
    () => clock.ms,
  );
  const setSize = guard.setStore(() => {
    note('evict');
    setSize(0);
  });
  setSize(MiB);
  const call = { pause: () => note('pause'), resume() {}, shed: () => note('cut') };
  guard.enter(call).hold(100 * MiB);
  // The measured heap has what is held in it already.
  heap.live += 1;
  return { guard, done, note, clock };
}

/** What brings each row's guard to act, in the order of the table. */
const attempts: readonly ((given: ReturnType<typeof guardOf>) => void)[] = [
  ({ guard }) => void guard.checkAvailability(),
  ({ guard, clock }) => {
    clock.mayCollect = false; // the last one was just now
    guard.checkAvailability();
    clock.mayCollect = true;
    guard.checkAvailability();
  },
  ({ guard, note, clock }) => {
    clock.mayCollect = false;
    if (guard.refusal() !== null) note('refuse');
    clock.mayCollect = true;
    clock.ms += 500;
    guard.refusal();
  },
  ({ guard, note }) => {
    if (guard.enter().hold(MiB, MiB) !== null) note('refuse');
  },
];

test('each row of the order in which memory is relieved is tried', () => {
  expect(rows.map(([, what = '']) => toldIn(what).length > 0)).toEqual(attempts.map(() => true));
});

test.each(rows.map(([when = '', what = ''], index) => ({ when: when.trim(), what, index })))(
  'docs/operating.md says what is done above $when, in that order',
  ({ when, what, index }) => {
    const { memory, heap } = sharesIn(when);
    const told = toldIn(what);
    // A body's row counts what parsing takes, 22 MiB of 1000 here.
    const toCome = when.includes('parsing') ? 0.022 : 0;
    const doneAt = (shares: { memory: number; heap: number }) => {
      const given = guardOf(shares);
      attempts[index]?.(given);
      return given.done.filter((action) => told.includes(action));
    };
    expect(doneAt({ memory: memory + 0.005, heap: 0 })).toEqual(told);
    const last = told.at(-1) ?? '';
    expect(doneAt({ memory: memory - 0.005, heap: 0 }), `below ${memory} of the memory`).not.toContain(last);
    if (heap === null) return;
    const inMemory = toCome > 0 ? 0.7 : 0.1;
    expect(doneAt({ memory: inMemory, heap: heap - toCome + 0.005 }), `above ${heap} of the heap`).toContain(last);
    expect(doneAt({ memory: inMemory, heap: heap - toCome - 0.005 }), `below ${heap} of the heap`).not.toContain(last);
  },
);
