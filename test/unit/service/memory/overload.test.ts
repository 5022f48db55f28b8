import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { type CollectionKind, takeCollector } from '../../../../src/service/memory/heap.ts';
import { type Admission, type Holder, OverloadGuard } from '../../../../src/service/memory/overload.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** What a test sets of a process whose heap and memory are 1000 MiB each: sizes are in MiB. */
const usual = {
  maxExchanges: 0,
  /** In bytes. */
  maxBufferedBytes: 0,
  live: 0,
  /** Of the heap; most may be empty. */
  pages: 0,
  size: 100,
  /** The collections that may be made now, and what they leave; null for all. */
  allows: [] as readonly CollectionKind[],
  sizeAfter: null as number | null,
  sizeAfterGivingBack: null as number | null,
  ms: 0,
};
type Changes = Partial<typeof usual>;
type State = 'reads' | 'paused' | 'cut';
const allows = ['affordable', 'urgent'] as const;

/** A guard of such a process, and what became of its holders. */
function processOf(given: Changes = {}) {
  const world = { ...usual, ...given, collections: [] as CollectionKind[] };
  const heap = {
    limit: 1000 * MiB,
    get live() {
      return world.live * MiB;
    },
    pages: () => world.pages * MiB,
    collect(kind: CollectionKind) {
      if (!world.allows.includes(kind)) return false;
      world.collections.push(kind);
      world.size = (kind === 'give_back' ? world.sizeAfterGivingBack : world.sizeAfter) ?? world.size;
      return true;
    },
  };
  const refusals: string[] = [];
  const resident = { limit: 1000 * MiB, bytes: () => world.size * MiB };
  const guard = new OverloadGuard(
    world,
    heap,
    (reason) => void refusals.push(reason),
    resident,
    () => world.ms,
  );
  const states = new Map<string, State>();
  const holderOf = (name: string, mayTakeLong: boolean): Holder => {
    const change = (to: State, ...from: readonly State[]) => {
      expect(from, `${name} becomes ${to}`).toContain(states.get(name));
      states.set(name, to);
    };
    states.set(name, 'reads');
    const shed = (error: ApiError) => {
      expect(error).toEqual(overloaded);
      change('cut', 'reads', 'paused');
    };
    return { pause: () => change('paused', 'reads'), resume: () => change('reads', 'paused'), shed, mayTakeLong };
  };
  return {
    guard,
    refusals,
    collections: world.collections,
    set: (changes: Changes) => void Object.assign(world, changes),
    size: () => world.size,
    /** A call that holds so many bytes in the state of its stream, or a connection that holds them of a message. */
    holder(name: string | number, bytes: number, isConnection = false) {
      const holder = holderOf(String(name), isConnection);
      const admission = isConnection ? guard.enter(holder) : admit(guard, holder);
      expect(admission.hold(bytes, isConnection ? bytes : 0)).toBeNull();
      return admission;
    },
    /** Keeps conversations of so many MiB; returns how many are still kept. */
    keep(size: number) {
      let kept = size * MiB;
      const resized = guard.setStore((bytes) => {
        kept = Math.max(kept - bytes, 0);
        resized(kept);
      });
      resized(kept);
      return () => kept / MiB;
    },
    are: (state: State) => [...states].flatMap(([name, its]) => (its === state ? [name] : [])),
    /** Is a new exchange refused? */
    refuses: () => guard.refusal() !== null,
    check(changes: Changes = {}) {
      Object.assign(world, changes);
      return guard.checkAvailability();
    },
    /** A message that is so long that the guard looks at the memory. */
    work(changes: Changes = {}) {
      Object.assign(world, changes);
      guard.worked(5 * MiB);
    },
  };
}

function admit(guard: OverloadGuard, holder?: Holder): Admission {
  const answer = guard.admit(holder);
  if (answer instanceof ApiError) throw answer;
  return answer;
}

const overloaded = expect.objectContaining({ status: 503, type: 'server_error', code: 'server_overloaded' });
const thrice = (check: () => boolean) => [check(), check(), check()];
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

describe('exchanges', () => {
  it('are refused beyond their limit with a 503 that says when to try again, until one ends', () => {
    const { guard, refusals } = processOf({ maxExchanges: 2 });
    const [first] = [admit(guard), admit(guard)];
    expect(guard.admit()).toEqual(overloaded);
    expect(guard.admit()).toMatchObject({ headers: { 'retry-after': '2' } });
    first.release();
    first.release();
    expect([refusals, guard.exchanges], 'it ends once').toEqual([['exchanges', 'exchanges'], 1]);
    admit(guard);
    expect(guard.admit()).toEqual(overloaded);
  });

  it('are refused while more than 60 % of the heap are live, or the process has more than 85 % of the memory', () => {
    const { check, refuses, refusals } = processOf();
    const isRefused = (changes: Changes) => [check(changes), refuses()][1];
    expect([600, 600.001].map((live) => isRefused({ live }))).toEqual([false, true]);
    expect([850, 850.001].map((size) => isRefused({ live: 0, size }))).toEqual([false, true]);
    expect(refusals).toEqual(['memory', 'memory']);
  });

  it('count for the heap with what they keep, until a collection sees it or they end', () => {
    const { guard, set, holder, refuses } = processOf({ live: 100 });
    const running = range(0, 5).map((name) => holder(name, 110 * MiB));
    expect(refuses()).toBe(true);
    running.pop()?.release();
    const canHold = (MiBs: number) => {
      const admission = admit(guard);
      const isTaken = admission.hold(MiBs * MiB, MiBs * MiB) === null;
      admission.release();
      return isTaken;
    };
    expect([18, 19].map(canHold), '22 × 18 are 396').toEqual([true, false]);
    set({ live: 150 }); // they keep less than was thought; what ends now is in it
    expect([36, 37].map(canHold)).toEqual([true, false]);
    for (const admission of running) admission.release();
    expect([36, 37].map(canHold)).toEqual([true, false]);
  });

  it('are not held on to once they have ended', async () => {
    const collect = takeCollector();
    const { guard } = processOf();
    const refs = [1, 2].map(() => {
      const holder = { pause() {}, resume() {}, shed() {} };
      guard.enter(holder).release();
      return new WeakRef(holder);
    });
    await new Promise<void>((resolve) => setImmediate(resolve));
    collect();
    expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined]);
  });
});

describe('a body', () => {
  it('is refused beyond the bytes that all bodies may have, and then leaves nothing', () => {
    const { guard, refusals } = processOf({ maxBufferedBytes: 100 });
    const [one, other] = [admit(guard), admit(guard)];
    expect(one.hold(101, 101)).toMatchObject({ message: expect.stringContaining('too many bytes are buffered') });
    expect([one.hold(60, 60), other.hold(40, 40), other.hold(41, 41)]).toEqual([null, null, overloaded]);
    expect([guard.held, refusals]).toEqual([60, ['buffered_bytes', 'buffered_bytes']]);
    expect(other.hold(1000), 'what is no body').toBeNull();
    expect([one.hold(0, 0), guard.held]).toEqual([null, 1000]);
  });

  it('is refused where parsing it may fill more than 95 % of the heap: 22 times its size', () => {
    const { guard, set, refusals, collections } = processOf({ allows });
    const holdAt = (live: number, bytes: number, body: number, by = guard.enter()) => {
      set({ live });
      return by.hold(bytes, body);
    };
    expect(holdAt(928, MiB, MiB)).toBeNull();
    expect(holdAt(928.001, MiB, MiB)).toMatchObject({ message: expect.stringContaining('memory is low') });
    expect(holdAt(928.001, 12 * MiB, MiB), 'as much is yet to be made of it').toEqual(overloaded);
    const taken = guard.enter();
    expect(holdAt(928, 12 * MiB, MiB, taken)).toBeNull();
    expect(holdAt(960, 12 * MiB, MiB, taken), 'it does not grow').toBeNull();
    expect(holdAt(960, 13 * MiB, 0, taken), 'what is no body is in memory already').toBeNull();
    expect(holdAt(950, MiB, 1)).toBeNull();
    expect([refusals, collections], 'the process is small').toEqual([['memory', 'memory'], []]);
  });

  it('is refused above 85 % of the memory, but above 60 % only if an urgent collection makes no room', () => {
    const hold = (given: Changes, bytes: number, body: number) => {
      const { guard, check, set, collections } = processOf(given);
      check();
      set({ allows: ['urgent'] });
      return [guard.enter().hold(bytes, body) === null, collections];
    };
    expect(hold({ size: 849 }, 1, 1)).toEqual([true, []]);
    expect(hold({ size: 850 }, 1, 1)).toEqual([false, ['urgent']]);
    expect(hold({ size: 850, sizeAfter: 750 }, 99 * MiB, MiB)).toEqual([true, ['urgent']]);
    expect(hold({ size: 850, sizeAfter: 750 }, 101 * MiB, MiB), 'it is not allocated yet').toEqual([false, ['urgent']]);
    expect(hold({ live: 949, size: 600 }, MiB, MiB)).toEqual([false, ['urgent']]);
    expect(hold({ live: 949, size: 599 }, MiB, MiB), 'garbage is not what fills the heap').toEqual([false, []]);
  });

  it('is never refused for shrinking, nor once its holder has ended', () => {
    const { guard, set, refusals } = processOf({ maxBufferedBytes: 100 });
    const [shrinks, ended] = [admit(guard), admit(guard)];
    shrinks.hold(90, 90);
    ended.release();
    set({ live: 1000 });
    expect([shrinks.hold(80, 80), ended.hold(50, 50), guard.held, refusals]).toEqual([null, null, 80, []]);
  });

  it('is made room for by connections with larger messages, which are cut to 95 % of the limit', () => {
    const { guard, holder, are, refusals } = processOf({ maxBufferedBytes: 100 });
    for (const bytes of [30, 20, 25]) holder(bytes, bytes, true);
    expect(admit(guard).hold(25, 25)).toBeNull();
    const next = admit(guard);
    expect([next.hold(2, 2), are('cut'), refusals]).toEqual([null, ['30'], ['buffered_bytes']]);
    expect(
      [24, 25, 30].map((bytes) => next.hold(bytes, bytes)),
      'up to the limit',
    ).toEqual([null, null, null]);
    expect([next.hold(31, 31), are('cut')], 'smaller ones make no room').toEqual([overloaded, ['30']]);
  });

  it('looks at the memory once 4 MiB more are held, before more is taken', () => {
    const { guard, holder, set, refuses } = processOf();
    const grows = holder('grows', 4 * MiB + 2);
    set({ size: 900 });
    grows.hold(4 * MiB + 1);
    expect(refuses(), 'what shrinks needs no look').toBe(false);
    grows.hold(4 * MiB + 2);
    expect([refuses(), guard.held]).toEqual([true, 4 * MiB + 2]);
  });
});

describe('the service', () => {
  it('is unavailable once three checks have found no room, and available again with room to spare', () => {
    const { guard, check } = processOf({ maxExchanges: 10 });
    const running = range(0, 10).map(() => admit(guard));
    expect(thrice(check)).toEqual([true, true, false]);
    const checkAfter = (ended: number) => {
      for (const admission of running.splice(0, ended)) admission.release();
      return check();
    };
    expect([1, 1].map(checkAfter), 'the next would take the last place').toEqual([false, true]);
    for (const _ of [1, 2]) {
      running.push(...range(running.length, 10).map(() => admit(guard)));
      expect([check(), check(), checkAfter(1)], 'a burst is over before the third').toEqual([true, true, true]);
    }
  });

  it.each<[string, Changes, number, number, boolean]>([
    ['one exchange of one', { maxExchanges: 1 }, 1, 0, false],
    ['none of one', { maxExchanges: 1 }, 0, 0, true],
    ['room for 64 KiB more', { maxBufferedBytes: 128 * KiB }, 1, 64 * KiB, true],
    ['less room', { maxBufferedBytes: 128 * KiB }, 1, 64 * KiB + 1, false],
    ['less room, while nobody waits', { maxBufferedBytes: 100 }, 0, 0, true],
    ['no room', { maxBufferedBytes: 1 }, 1, 1, false],
    ['bytes without a limit', {}, 1, MiB, true],
    ['a heap of 60 %', { live: 600 }, 0, 0, true],
    ['a larger heap', { live: 600.001 }, 0, 0, false],
  ])('is available, or not, with %s', (_, given, exchanges, bytes, expected) => {
    const { guard, check } = processOf(given);
    for (let n = 0; n < exchanges; n += 1) admit(guard).hold(bytes, bytes);
    expect(thrice(check).at(-1)).toBe(expected);
  });

  it('is available again below 85 % of a limit', () => {
    const bytes = processOf({ maxBufferedBytes: 200 * KiB });
    const waiting = admit(bytes.guard);
    const checkAt = (held: number) => [waiting.hold(held, held), bytes.check()][1];
    const most = 200 * KiB;
    expect([most, most, most, 106 * KiB + 1, 106 * KiB].map(checkAt)).toEqual([true, true, false, false, true]);
    const heap = processOf();
    const lives = [700, 700, 700, 510.001, 510];
    expect(lives.map((live) => heap.check({ live }))).toEqual([true, true, false, false, true]);
  });

  it('collects while it refuses, urgently once more exchanges have ended than run', () => {
    const { guard, check, set, collections } = processOf();
    const running = range(0, 4).map(() => admit(guard));
    const collectAfter = (ended: number) => {
      set({ live: 700, allows });
      for (const admission of running.splice(0, ended)) admission.release();
      check();
      return collections.splice(0);
    };
    expect([2, 1, 0, 1].map(collectAfter)).toEqual([['affordable'], ['affordable'], ['affordable'], ['urgent']]);
  });

  it('gives memory back once no exchange has run for a while', () => {
    const { guard, check, collections } = processOf({ allows: ['give_back'] });
    const givenBackAt = (ms: number) => [check({ ms }), collections.length][1];
    expect([0, 999, 1000].map(givenBackAt)).toEqual([0, 0, 1]);
    const runs = admit(guard);
    expect([2000, 60_000].map((ms) => givenBackAt(ms))).toEqual([1, 1]);
    runs.release();
    admit(guard).release();
    check({ ms: 60_500, size: 109 });
    expect([80_499, 80_500].map(givenBackAt)).toEqual([1, 2]);
  });
});

describe('where the process is large', () => {
  it.each<[number, object]>([
    [600, [[], 0, false]],
    [601, [['affordable'], 0, false]],
    [750, [['affordable'], 0, false]],
    [751, [['urgent'], 1, false]],
    [850, [['urgent'], 1, false]],
    [851, [['urgent'], 1, true]],
  ])('it collects, cuts and refuses, or not, at %d of 1000 MiB', (size, expected) => {
    const { holder, check, collections, are, refuses } = processOf({ allows });
    holder('call', 200 * MiB);
    check({ size });
    expect([collections.slice(0, 1), are('cut').length, refuses()]).toEqual(expected);
  });

  it('those that hold the most are paused, and go on with less or after a collection', () => {
    const { holder, check, are } = processOf();
    const [gone] = [
      holder('gone', 110 * MiB),
      holder('small', 1000),
      holder('large', 60 * MiB),
      holder('largest', 190 * MiB),
    ];
    const pausedAt = (size: number, changes: Changes = {}) => [check({ ...changes, size }), are('paused')][1];
    expect(pausedAt(780)).toEqual(['largest']);
    expect(pausedAt(980)).toEqual(['gone', 'largest', 'large'].toSorted());
    gone.release();
    expect(pausedAt(500), 'who has ended is not resumed').toEqual(['gone']);
    expect(pausedAt(780)).toEqual(['gone', 'largest']);
    expect(pausedAt(650), 'not before a collection').toEqual(['gone', 'largest']);
    expect(pausedAt(650, { allows })).toEqual(['gone']);
  });

  it.each<[string, Changes, number[], number[]]>([
    ['the largest', { size: 780 }, [60 * MiB, 180 * MiB + 1], [180 * MiB + 1]],
    ['as many as together exceed 60 %', { size: 780 }, [60 * MiB, 180 * MiB], [60 * MiB, 180 * MiB]],
    ['none of 256 KiB', { size: 780 }, [256 * KiB, 256 * KiB + 1], [256 * KiB + 1]],
    ['none of the small ones, which keep nobody out', { size: 840 }, range(1000, 1010), []],
    ['none for a heap of 80 %', { live: 800 }, [MiB], []],
    ['the largest for a larger heap', { live: 800.001 }, [MiB], [MiB]],
  ])('are cut, where a collection frees too little: %s', (_, changes, sizes, expected) => {
    const { holder, work, are, guard } = processOf({ allows });
    for (const bytes of sizes) holder(bytes, bytes);
    work(changes);
    expect(are('cut').map(Number)).toEqual(expected);
    expect(guard.held).toBe(sizes.filter((bytes) => !expected.includes(bytes)).reduce((sum, bytes) => sum + bytes, 0));
  });

  it('nobody is cut for garbage, nor for empty pages, which are given back while little of the heap is live', () => {
    const outcomeOf = (given: Changes) => {
      const { holder, work, are, size } = processOf({ allows: [...allows, 'give_back'], ...given });
      holder('large', 90 * MiB);
      work({ size: 900 });
      return [are('cut').length, size()];
    };
    expect(outcomeOf({ sizeAfter: 300 })).toEqual([0, 300]);
    const sizeAfterGivingBack = 300;
    expect(outcomeOf({ live: 100, pages: 800, sizeAfterGivingBack })).toEqual([0, 300]);
    expect(outcomeOf({ live: 190, pages: 800, sizeAfterGivingBack })).toEqual([1, 900]);
    expect(outcomeOf({ live: 50, pages: 300, sizeAfterGivingBack })).toEqual([1, 900]);
  });

  it('connections are cut as calls are, with what their clients have yet to read', () => {
    const { holder, guard, work, are } = processOf({ allows });
    holder('call', 100 * MiB);
    const account = holder('connection', 1, true);
    account.hold(100 * MiB);
    account.setUnsent(90 * MiB);
    expect([guard.held, guard.exchanges]).toEqual([290 * MiB, 1]);
    work({ size: 780 });
    expect(are('cut')).toEqual(['connection']);
    account.release();
    expect([guard.held, guard.exchanges]).toEqual([100 * MiB, 1]);
  });

  it('a call that has been cut is refused nothing, and costs no other collection', () => {
    const { holder, work, refusals, collections } = processOf({ allows });
    const cut = holder('largest', 190 * MiB);
    work({ size: 960 });
    expect([refusals, collections.splice(0)]).toEqual([['memory'], ['urgent']]);
    expect([cut.hold(5 * MiB, MiB), refusals, collections]).toEqual([null, ['memory'], []]);
  });

  it('what was cut is gone before a collection has seen it, and what ends by itself only then', () => {
    const { guard, holder, work, check, are } = processOf({ allows });
    const [one] = [holder('one', 100 * MiB), holder('cut', 200 * MiB)];
    work({ live: 400, size: 790 });
    expect(are('cut')).toEqual(['cut']);
    one.release();
    check({ size: 100 });
    const probe = guard.enter();
    let MiBs = 0;
    while (guard.refusal() === null) probe.hold(++MiBs * MiB);
    expect(MiBs).toBe(501); // 400 are live, 200 of them cut; in place of the 100 that were freed come 100 that are not counted
  });

  it.each([0, 5, 10])('much of what is little on the wire has the next message cut, with %d MiB left', (left) => {
    const { guard, holder, check, set, are } = processOf({ allows });
    holder('largest', 190 * MiB);
    check();
    set({ size: 780 });
    guard.worked(1);
    holder('grows', 5 * MiB).hold(left * MiB);
    expect(are('cut'), 'not while a message is read').toEqual([]);
    guard.worked(1);
    expect(are('cut')).toEqual(['largest']);
  });
});

describe('conversations that are kept', () => {
  it('are evicted before a new exchange or a body is refused', () => {
    const keptAfter = (given: Changes, attempt: (guard: OverloadGuard) => ApiError | null) => {
      const { guard, keep, check, set } = processOf({ size: given.size ?? 0 });
      const kept = keep(500);
      check();
      set({ allows, ...given });
      return [attempt(guard), kept()];
    };
    expect(keptAfter({ size: 860, sizeAfter: 300 }, (guard) => guard.refusal())).toEqual([null, 240]);
    const hold = (guard: OverloadGuard) => guard.enter().hold(100 * MiB, 4 * MiB);
    expect(keptAfter({ size: 800, sizeAfter: 500 }, hold)).toEqual([null, 200]);
  });

  it('are evicted before anybody is cut, and what they leave is not cut', () => {
    const { holder, keep, work, are } = processOf({ allows });
    for (const MiBs of [100, 110]) holder(MiBs, MiBs * MiB);
    const kept = keep(100);
    work({ size: 780 });
    expect([kept(), are('cut')]).toEqual([0, ['110']]);
  });

  it('alone make a refusal look at the memory', () => {
    const collectionsOf = (MiBs: number) => {
      const { keep, check, set, refuses, collections } = processOf({ live: 850, size: 900 });
      keep(MiBs);
      check();
      set({ allows });
      refuses();
      return collections;
    };
    expect([0, 1].map(collectionsOf)).toEqual([[], ['urgent']]);
  });

  it('count with the bodies, and are evicted by as much as exceeds the limit, but wait for nothing', () => {
    const { guard, keep, check } = processOf({ maxBufferedBytes: 2 * MiB });
    const kept = keep(2.5);
    expect([kept(), guard.held]).toEqual([2, 2 * MiB]);
    expect(admit(guard).hold(MiB, MiB)).toBeNull();
    expect([kept(), guard.held]).toEqual([1, 2 * MiB]);
    expect(thrice(check)).toEqual([true, true, true]);
  });
});

describe('where new exchanges have been refused for half a second', () => {
  it.each<[string, (given: ReturnType<typeof processOf>) => unknown]>([
    ['a check', ({ check }) => check()],
    ['a message', ({ work }) => work()],
    ['the next exchange, since those that are paused do no work,', ({ refuses }) => refuses()],
  ])('%s cuts the one that holds the most, and others are admitted', (_, look) => {
    const given = processOf({ live: 400, allows: ['urgent'], sizeAfter: 100 });
    for (const [name, bytes] of Object.entries({ small: 100_000, large: 60 * MiB, largest: 190 * MiB }))
      given.holder(name, bytes);
    expect(given.refuses()).toBe(true);
    const cutAt = (ms: number) => {
      given.set({ ms });
      look(given);
      return [given.are('cut'), given.refuses()];
    };
    expect([499, 500].map(cutAt)).toEqual([
      [[], true],
      [['largest'], false],
    ]);
  });

  it('nobody is cut if others were admitted meanwhile', () => {
    const { guard, holder, check, refuses, are } = processOf({ live: 350, allows: ['urgent'] });
    const [second] = [holder('second', 60 * MiB), holder('large', 200 * MiB)];
    expect(refuses()).toBe(true);
    second.release();
    admit(guard).release();
    holder('third', 60 * MiB);
    check({ ms: 500 });
    expect(are('cut')).toEqual([]);
  });

  it('a check is enough to find it, since nobody is sent to a process that is not ready', () => {
    const { set, check, collections } = processOf({ live: 700 });
    const collectionsAt = (ms: number) => [check({ ms }), collections.length][1];
    expect([0, 499, 500].map(collectionsAt), 'none may be made').toEqual([0, 0, 0]);
    set({ allows: ['urgent'] });
    expect([501, 1000, 1001].map(collectionsAt), 'again after half a second').toEqual([1, 1, 2]);
  });

  const ordinary = Array<number>(100).fill(15);

  it.each<[string, number[], number[][]]>([
    ['the newest, as many as take 620 MiB to 57 %', Array(400).fill(250), [range(195, 400), range(195, 400)]],
    ['some, at 14 KiB each, of those too small to be counted', Array(8000).fill(0), [range(4342, 8000)]],
    ['those that hold more than others first', [250, 257, 250], [[1], range(0, 3)]],
    ['no ordinary ones', [...ordinary, ...Array(20).fill(256), ...ordinary], [range(100, 120)]],
  ])('of small calls are cut %s', (_, KiBs, expected) => {
    const { holder, set, check, refuses, are } = processOf({ allows: ['urgent'], sizeAfter: 100 });
    for (const [at, size] of KiBs.entries()) holder(at, size * KiB);
    set({ live: 620 });
    expect(refuses()).toBe(true);
    const cutAt = (ms: number) => [check({ ms }), are('cut').map(Number)][1];
    expect([499, 500, 1000].slice(0, expected.length + 1).map(cutAt)).toEqual([[], ...expected]);
  });
});
