import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { takeCollector } from '../../../../src/service/memory/heap.ts';
import { type Admission, OverloadGuard } from '../../../../src/service/memory/overload.ts';

const MiB = 1024 * 1024;

function guardOf(limits: { maxExchanges?: number; maxBufferedBytes?: number; live?: number }) {
  const refusals: string[] = [];
  const collections: boolean[] = [];
  const heap = {
    limit: 1000 * MiB,
    live: limits.live ?? 0,
    collect(urgent: boolean) {
      collections.push(urgent);
      return urgent;
    },
    giveBack: () => false,
  };
  const guard = new OverloadGuard(
    { maxExchanges: 0, maxBufferedBytes: 0, ...limits },
    heap,
    (reason) => void refusals.push(reason),
    { limit: Number.POSITIVE_INFINITY, bytes: () => 0 },
  );
  return { guard, refusals, heap, collections };
}

function admissionOf(answer: Admission | ApiError): Admission {
  if (answer instanceof ApiError) throw answer;
  return answer;
}

describe('the limit on exchanges', () => {
  it('refuses one more than it allows with a 503 that says when to try again', () => {
    const { guard, refusals } = guardOf({ maxExchanges: 2 });
    admissionOf(guard.admit());
    admissionOf(guard.admit());
    expect(guard.admit()).toMatchObject({
      status: 503,
      type: 'server_error',
      code: 'server_overloaded',
      headers: { 'retry-after': '2' },
    });
    expect(refusals).toEqual(['exchanges']);
    expect(guard.exchanges).toBe(2);
  });

  it('has room again when one ends, once however often it is released', () => {
    const { guard } = guardOf({ maxExchanges: 1 });
    const admission = admissionOf(guard.admit());
    admission.release();
    admission.release();
    expect(guard.exchanges).toBe(0);
    admissionOf(guard.admit());
    expect(guard.admit()).toBeInstanceOf(ApiError);
  });

  it('is none when it is 0', () => {
    const { guard } = guardOf({ maxExchanges: 0 });
    for (let n = 0; n < 1000; n += 1) admissionOf(guard.admit());
    expect(guard.exchanges).toBe(1000);
  });
});

describe('the limit on bytes', () => {
  it('refuses the exchange that crosses it, and counts what is released', () => {
    const { guard, refusals } = guardOf({ maxBufferedBytes: 100 });
    const first = admissionOf(guard.admit());
    const second = admissionOf(guard.admit());
    expect(first.hold(60, 60)).toBeNull();
    expect(second.hold(40, 40)).toBeNull();
    expect(second.hold(41, 41)).toMatchObject({ status: 503, code: 'server_overloaded' });
    expect(refusals).toEqual(['buffered_bytes']);
    expect(guard.held).toBe(60);
    expect(first.hold(0, 0)).toBeNull();
    expect(guard.held).toBe(0);
  });

  it('is made room for by connections that hold more of their messages, the largest first', () => {
    const { guard, refusals } = guardOf({ maxBufferedBytes: 100 });
    const cut: string[] = [];
    const enter = (name: string, bytes: number) => {
      const nothing = () => {};
      const admission = guard.enter({ pause: nothing, resume: nothing, shed: () => cut.push(name), mayTakeLong: true });
      expect(admission.hold(bytes, bytes)).toBeNull();
    };
    enter('small', 20);
    enter('large', 50);
    const exchange = admissionOf(guard.admit());
    expect(exchange.hold(30, 30)).toBeNull();
    expect(admissionOf(guard.admit()).hold(1, 1)).toBeNull();
    expect([cut, refusals]).toEqual([['large'], ['buffered_bytes']]);
    expect(exchange.hold(90, 90)).toMatchObject({ status: 503 });
    expect(cut).toEqual(['large']);
  });

  it('never refuses what shrinks, even with no memory left', () => {
    const { guard, heap } = guardOf({ maxBufferedBytes: 100 });
    const admission = admissionOf(guard.admit());
    admission.hold(90, 90);
    heap.live = heap.limit;
    expect(admission.hold(80, 80)).toBeNull();
  });

  it('counts nothing for an exchange that has ended', () => {
    const { guard } = guardOf({ maxBufferedBytes: 100 });
    const admission = admissionOf(guard.admit());
    admission.release();
    expect(admission.hold(50, 50)).toBeNull();
    expect(guard.held).toBe(0);
  });
});

describe('a holder that has ended', () => {
  it('is not refused what it tells too late', () => {
    const { guard, heap, refusals } = guardOf({});
    const admission = admissionOf(guard.admit());
    admission.release();
    heap.live = heap.limit;
    expect(admission.hold(50, 50)).toBeNull();
    expect(refusals).toEqual([]);
  });
});

describe('memory', () => {
  it('admits nothing new while most of the heap is live', () => {
    const { guard, refusals, heap } = guardOf({ live: 601 * MiB });
    expect(guard.admit()).toMatchObject({ status: 503 });
    expect(refusals).toEqual(['memory']);
    heap.live = 599 * MiB;
    admissionOf(guard.admit());
  });

  it('counts what exchanges keep on the heap until a measurement sees it or they end', () => {
    const { guard, heap } = guardOf({ live: 100 * MiB });
    const running = Array.from({ length: 5 }, () => {
      const admission = admissionOf(guard.admit());
      expect(admission.hold(MiB, MiB)).toBeNull();
      expect(admission.hold(110 * MiB)).toBeNull();
      return admission;
    });
    expect(guard.admit()).toMatchObject({ status: 503 });
    running.pop()?.release();
    const next = admissionOf(guard.admit());
    expect(next.hold(20 * MiB, 20 * MiB)).toMatchObject({ status: 503 });
    // The measurement saw that they keep less than was thought; what ends now is in it.
    heap.live = 150 * MiB;
    expect(admissionOf(guard.admit()).hold(30 * MiB, 30 * MiB)).toBeNull();
    for (const admission of running) admission.release();
    expect(admissionOf(guard.admit()).hold(39 * MiB, 39 * MiB)).toMatchObject({ status: 503 });
    heap.live = 40 * MiB;
    expect(admissionOf(guard.admit()).hold(39 * MiB, 39 * MiB)).toBeNull();
  });

  it('takes a body only if parsing it cannot fill the heap', () => {
    const { guard, heap } = guardOf({ live: 300 * MiB });
    const admission = admissionOf(guard.admit());
    expect(admission.hold(29 * MiB, 29 * MiB)).toBeNull();
    expect(admission.hold(30 * MiB, 30 * MiB)).toMatchObject({ status: 503 });
    heap.live = 0;
    expect(admission.hold(31 * MiB, 31 * MiB)).toBeNull();
  });
});

describe('the share of the heap that is too much', () => {
  it.each<[string, number, boolean[]]>([
    ['is not yet reached with 80 %', 800 * MiB, []],
    ['is reached with one byte more, and what is garbage is collected at once', 800 * MiB + 1, [true]],
  ])('%s', (_, live, expected) => {
    const { guard, collections } = guardOf({ live });
    guard.worked(5 * MiB);
    expect(collections).toEqual(expected);
  });
});

describe('availability', () => {
  it('is lost after several checks without room, and comes back with room to spare', () => {
    const { guard } = guardOf({ maxExchanges: 10 });
    const running = Array.from({ length: 10 }, () => admissionOf(guard.admit()));
    expect([1, 2, 3].map(() => guard.checkAvailability())).toEqual([true, true, false]);
    running.pop()?.release();
    expect(guard.checkAvailability()).toBe(false); // the next request would take the last place
    running.pop()?.release();
    expect(guard.checkAvailability()).toBe(true);
    running.push(admissionOf(guard.admit()), admissionOf(guard.admit()));
    expect(guard.checkAvailability()).toBe(true);
  });

  it('is not lost in a burst that is over before the checks are', () => {
    const { guard } = guardOf({ maxExchanges: 1 });
    for (let round = 0; round < 5; round += 1) {
      const burst = admissionOf(guard.admit());
      expect([guard.checkAvailability(), guard.checkAvailability()]).toEqual([true, true]);
      burst.release();
      expect(guard.checkAvailability()).toBe(true);
    }
  });

  it('follows the buffered bytes and the live heap', () => {
    const { guard, heap } = guardOf({ maxBufferedBytes: MiB });
    const admission = admissionOf(guard.admit());
    admission.hold(MiB - 1000, MiB - 1000);
    expect([1, 2, 3].map(() => guard.checkAvailability())).toEqual([true, true, false]);
    admission.hold(0, 0);
    expect(guard.checkAvailability()).toBe(true);
    heap.live = 601 * MiB;
    expect([1, 2, 3].map(() => guard.checkAvailability())).toEqual([true, true, false]);
    heap.live = 550 * MiB;
    expect(guard.checkAvailability()).toBe(false);
    heap.live = 500 * MiB;
    expect(guard.checkAvailability()).toBe(true);
  });

  it('measures the heap again while it refuses, urgently once most exchanges have ended', () => {
    const { guard, heap, collections } = guardOf({});
    const running = Array.from({ length: 4 }, () => admissionOf(guard.admit()));
    heap.live = 700 * MiB;
    expect(guard.admit()).toBeInstanceOf(ApiError);
    guard.checkAvailability();
    expect(collections).toEqual([false]);
    for (const admission of running.slice(1)) admission.release();
    guard.checkAvailability();
    guard.checkAvailability();
    expect(collections).toEqual([false, true, false]); // the first that was urgent was granted
  });
});

describe('what the process has of its container', () => {
  /** A guard of a process that has so much of 1000 MiB; each collection leaves what is said then. */
  function guardOfContainer(live = 0) {
    const resident = {
      limit: 1000 * MiB,
      now: 100 * MiB,
      afterCollection: null as number | null,
      afterGivingBack: null as number | null,
      collections: 0,
      /** For each that was asked for, whether it was urgent. */
      asked: [] as boolean[],
      bytes: () => resident.now,
    };
    const heap = {
      limit: 1000 * MiB,
      live,
      collect(urgent: boolean) {
        resident.asked.push(urgent);
        // The heap alone is worth none that is not urgent.
        if (resident.afterCollection === null || (!urgent && resident.now <= 600 * MiB)) return false;
        resident.collections += 1;
        resident.now = resident.afterCollection;
        return true;
      },
      giveBack() {
        if (resident.afterGivingBack === null) return false;
        resident.now = resident.afterGivingBack;
        return true;
      },
    };
    const refusals: string[] = [];
    const limits = { maxExchanges: 0, maxBufferedBytes: 0 };
    const clock = { ms: 0 };
    const guard = new OverloadGuard(
      limits,
      heap,
      (reason) => refusals.push(reason),
      resident,
      () => clock.ms,
    );
    const log: string[] = [];
    /** A call that holds so much in the state of its stream. */
    const open = (name: string, bytes: number) => {
      const call = {
        pause: () => void log.push(`pause ${name}`),
        resume: () => void log.push(`resume ${name}`),
        shed: ({ code }: ApiError) => void log.push(`${code} ${name}`),
      };
      const admission = admissionOf(guard.admit(call));
      admission.hold(bytes);
      return admission;
    };
    return { guard, resident, heap, log, open, refusals, clock };
  }

  it('refuses what is new while it is nearly all', () => {
    const { guard, resident, refusals } = guardOfContainer();
    resident.now = 860 * MiB;
    guard.checkAvailability();
    expect(guard.admit()).toMatchObject({ status: 503, code: 'server_overloaded' });
    expect(refusals).toEqual(['memory']);
    resident.now = 700 * MiB;
    guard.checkAvailability();
    admissionOf(guard.admit());
  });

  it('refuses a body that it has no room for, unless what fills it is garbage', () => {
    const { guard, resident } = guardOfContainer();
    resident.now = 800 * MiB;
    guard.checkAvailability();
    expect(admissionOf(guard.admit()).hold(100 * MiB, 4 * MiB)).toMatchObject({ status: 503 });
    resident.afterCollection = 200 * MiB;
    expect(admissionOf(guard.admit()).hold(100 * MiB, 4 * MiB)).toBeNull();
  });

  it('pauses the calls that hold the most while it is short, and lets them go on', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('small', 1000);
    open('large', 60 * MiB);
    open('largest', 190 * MiB);
    resident.now = 780 * MiB;
    guard.checkAvailability();
    guard.checkAvailability();
    expect(log).toEqual(['pause largest']);
    resident.now = 500 * MiB;
    guard.checkAvailability();
    expect(log).toEqual(['pause largest', 'resume largest']);
  });

  it('lets them go on where no more is left to do than to collect', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('largest', 190 * MiB);
    resident.now = 780 * MiB;
    guard.checkAvailability();
    resident.now = 650 * MiB;
    guard.checkAvailability();
    expect(log, 'not before a collection').toEqual(['pause largest']);
    resident.afterCollection = 650 * MiB;
    guard.checkAvailability();
    expect(log).toEqual(['pause largest', 'resume largest']);
  });

  it('fails them, and no more than it takes, where a collection shows that it is no garbage', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('large', 40 * MiB);
    open('largest', 190 * MiB);
    open('small', 100_000);
    resident.now = 780 * MiB;
    resident.afterCollection = 780 * MiB;
    guard.worked(5 * MiB);
    expect(log).toEqual(['server_overloaded largest']);
    expect(guard.held).toBe(40 * MiB + 100_000);
  });

  it('fails them with the next message where one had little on the wire and much to be held', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('large', 40 * MiB);
    open('largest', 190 * MiB);
    guard.checkAvailability();
    resident.now = 780 * MiB;
    resident.afterCollection = 780 * MiB;
    guard.worked(1);
    expect(log).toEqual([]);
    open('grows', 5 * MiB);
    expect(log, 'not while a message is read').toEqual([]);
    guard.worked(1);
    expect(log).toEqual(['server_overloaded largest']);
  });

  it('fails them no later where what one held is freed at once, or was looked at meanwhile', () => {
    for (const then of [0, 10 * MiB]) {
      const { guard, resident, log, open } = guardOfContainer();
      open('largest', 190 * MiB);
      guard.checkAvailability();
      resident.now = 780 * MiB;
      resident.afterCollection = 780 * MiB;
      const grows = open('grows', 5 * MiB);
      grows.hold(then);
      grows.hold(then + 1);
      expect(log, 'not while a message is read').toEqual([]);
      guard.worked(1);
      expect(log).toEqual(['server_overloaded largest']);
    }
  });

  it('refuses nothing to a call that it has failed', () => {
    const { guard, resident, open, refusals } = guardOfContainer();
    const failed = open('largest', 190 * MiB);
    resident.now = 960 * MiB;
    resident.afterCollection = 960 * MiB;
    guard.worked(5 * MiB);
    expect(refusals).toEqual(['memory']);
    const { collections } = resident;
    expect(failed.hold(5 * MiB, MiB)).toBeNull();
    expect(refusals).toEqual(['memory']);
    expect(resident.collections).toBe(collections);
  });

  it('fails none where V8 has kept the pages of what was collected: they are given back first', () => {
    const { guard, resident, log, open } = guardOfContainer(100 * MiB);
    open('large', 90 * MiB);
    resident.now = 900 * MiB;
    resident.afterCollection = 900 * MiB;
    resident.afterGivingBack = 300 * MiB;
    guard.worked(5 * MiB);
    expect(log).toEqual([]);
    expect(resident.now).toBe(300 * MiB);
  });

  it.each<[string, (guard: OverloadGuard) => void]>([
    ['a check', (guard) => guard.checkAvailability()],
    ['work', (guard) => guard.worked(5 * MiB)],
  ])(
    'fails the calls that hold the most where nobody else was admitted for half a second, at %s, and admits again',
    (_, look) => {
      const { guard, resident, log, open, clock } = guardOfContainer(400 * MiB);
      open('small', 100_000);
      open('large', 60 * MiB);
      open('largest', 190 * MiB);
      resident.afterCollection = 100 * MiB;
      expect(guard.admit()).toMatchObject({ status: 503 });
      clock.ms += 499;
      look(guard);
      expect(guard.admit()).toMatchObject({ status: 503 });
      expect(log).toEqual([]);
      clock.ms += 1;
      look(guard);
      expect(log).toEqual(['server_overloaded largest']);
      admissionOf(guard.admit());
    },
  );

  describe('where nobody holds much', () => {
    /** Calls that hold so many KiB each, while 620 MiB of the heap are live; what was cut once half a second is over, and again. */
    function cutOf(sizes: readonly number[]) {
      const { guard, resident, heap, log, open, clock } = guardOfContainer(0);
      for (const [at, KiBs] of sizes.entries()) open(String(at), KiBs * 1024);
      heap.live = 620 * MiB;
      resident.afterCollection = 100 * MiB;
      expect(guard.admit()).toMatchObject({ status: 503 });
      clock.ms += 499;
      guard.checkAvailability();
      expect(log).toEqual([]);
      const cut = () => log.splice(0).map((line) => Number(/^server_overloaded (\d+)$/.exec(line)?.[1]));
      return [1, 500].map((ms) => {
        clock.ms += ms;
        guard.checkAvailability();
        return cut();
      });
    }

    it('cuts the newest, as many as it takes to let others in', () => {
      const [first = [], second = []] = cutOf(Array.from({ length: 400 }, () => 250));
      // 50 MiB above 57 %.
      expect([first.length, first.at(0), first.at(-1)]).toEqual([205, 399, 195]);
      expect(second).toEqual([]);
    });

    it('cuts some alone where each is too small to be counted', () => {
      const [first = []] = cutOf(Array.from({ length: 8000 }, () => 0));
      // 50 MiB, at 14 KiB each.
      expect([first.length, first.at(0), first.at(-1)]).toEqual([3658, 7999, 4342]);
    });

    it('spares those that hold less than most of the memory', () => {
      const ordinary = Array.from({ length: 100 }, () => 15);
      const [first = [], second = []] = cutOf([...ordinary, ...Array.from({ length: 20 }, () => 256), ...ordinary]);
      expect(first.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, at) => 100 + at));
      expect(second.every((at) => at < 100 || at >= 120)).toBe(true);
    });

    it('cuts those that hold more first', () => {
      expect(cutOf([250, 257, 250]).map((cut) => cut.toSorted())).toEqual([[1], [0, 2]]);
    });

    it('cuts nobody who keeps out nothing new', () => {
      const { guard, resident, log, open } = guardOfContainer();
      for (let at = 0; at < 10; at += 1) open(String(at), 250 * 1024);
      resident.now = 840 * MiB;
      resident.afterCollection = 840 * MiB;
      for (let times = 0; times < 5; times += 1) guard.worked(5 * MiB);
      expect(log).toEqual([]);
    });
  });

  it('does so for the next that comes, since there is no work while they are paused', () => {
    const { guard, resident, log, open, clock } = guardOfContainer(400 * MiB);
    open('largest', 250 * MiB);
    resident.afterCollection = 100 * MiB;
    guard.admit();
    clock.ms += 500;
    admissionOf(guard.admit());
    expect(log).toEqual(['server_overloaded largest']);
  });

  it('does so too where a check found it, since nobody is sent to a process that is not ready', () => {
    const { guard, resident, log, open, clock } = guardOfContainer(400 * MiB);
    open('largest', 250 * MiB);
    resident.afterCollection = 100 * MiB;
    guard.checkAvailability();
    clock.ms += 500;
    guard.checkAvailability();
    expect(log).toEqual(['server_overloaded largest']);
  });

  it('collects for that as soon as it may, and again after half a second', () => {
    const { guard, resident, clock } = guardOfContainer(700 * MiB);
    const collectionsAt = (ms: number) => {
      clock.ms = ms;
      guard.checkAvailability();
      return resident.collections;
    };
    expect([0, 499, 500].map(collectionsAt), 'it may not yet').toEqual([0, 0, 0]);
    resident.afterCollection = 100 * MiB;
    expect([501, 1000, 1001].map(collectionsAt)).toEqual([1, 1, 2]);
  });

  it('fails none where others were admitted meanwhile', () => {
    const { guard, resident, log, open, clock } = guardOfContainer(350 * MiB);
    open('large', 200 * MiB);
    const second = open('second', 60 * MiB);
    resident.afterCollection = 100 * MiB;
    expect(guard.admit()).toMatchObject({ status: 503 });
    second.release();
    admissionOf(guard.admit()).release();
    open('second', 60 * MiB);
    clock.ms += 500;
    guard.checkAvailability();
    expect(log).toEqual([]);
  });

  it('gives nothing back while much of the heap is live: that would take seconds', () => {
    const { guard, resident } = guardOfContainer(200 * MiB);
    resident.now = 900 * MiB;
    resident.afterCollection = 900 * MiB;
    resident.afterGivingBack = 300 * MiB;
    guard.worked(5 * MiB);
    expect(resident.now).toBe(900 * MiB);
  });

  it('gives nothing back of what calls and the heap hold', () => {
    const { guard, resident, open } = guardOfContainer(300 * MiB);
    open('large', 90 * MiB).setUnsent(400 * MiB);
    resident.now = 900 * MiB;
    resident.afterCollection = 900 * MiB;
    resident.afterGivingBack = 300 * MiB;
    guard.worked(5 * MiB);
    expect(resident.now).toBe(900 * MiB);
  });

  it('fails none where there was garbage', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('large', 90 * MiB);
    resident.now = 900 * MiB;
    resident.afterCollection = 300 * MiB;
    guard.worked(5 * MiB);
    expect(log).toEqual([]);
  });

  /** A store that keeps so many bytes for later. */
  function keep(guard: OverloadGuard, bytes: number) {
    const store = {
      bytes,
      evict(wanted: number) {
        store.bytes = Math.max(store.bytes - wanted, 0);
        resized(store.bytes);
      },
    };
    const resized = guard.setStore(store.evict);
    resized(bytes);
    return store;
  }

  it('forgets what is kept for later before it refuses what is new', () => {
    const { guard, resident } = guardOfContainer();
    const store = keep(guard, 500 * MiB);
    resident.now = 860 * MiB;
    guard.checkAvailability();
    resident.afterCollection = 300 * MiB;
    admissionOf(guard.admit()).release();
    expect(store.bytes).toBe(240 * MiB);
  });

  it('forgets it before it refuses a body', () => {
    const { guard, resident } = guardOfContainer();
    const store = keep(guard, 500 * MiB);
    resident.now = 800 * MiB;
    guard.checkAvailability();
    const admission = admissionOf(guard.admit());
    resident.afterCollection = 500 * MiB;
    expect(admission.hold(100 * MiB, 4 * MiB)).toBeNull();
    expect(store.bytes).toBe(200 * MiB);
  });

  it('forgets it before it cuts those that hold the most, and cuts no more than that leaves', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('large', 100 * MiB);
    open('largest', 110 * MiB);
    const store = keep(guard, 100 * MiB);
    resident.now = 780 * MiB;
    resident.afterCollection = 780 * MiB;
    guard.worked(5 * MiB);
    expect({ kept: store.bytes, log }).toEqual({ kept: 0, log: ['server_overloaded largest'] });
  });

  it('counts what others than exchanges hold, and cuts them as it cuts exchanges', () => {
    const { guard, resident, log, open } = guardOfContainer();
    open('call', 100 * MiB);
    const connection = {
      pause() {},
      resume() {},
      shed: ({ code }: ApiError) => void log.push(`${code} connection`),
    };
    const account = guard.enter(connection);
    account.hold(100 * MiB);
    account.setUnsent(90 * MiB);
    expect({ held: guard.held, exchanges: guard.exchanges }).toEqual({ held: 290 * MiB, exchanges: 1 });
    resident.now = 780 * MiB;
    resident.afterCollection = 780 * MiB;
    guard.worked(5 * MiB);
    expect(log).toEqual(['server_overloaded connection']);
    account.release();
    expect({ held: guard.held, exchanges: guard.exchanges }).toEqual({ held: 100 * MiB, exchanges: 1 });
  });

  it('is collected above 60 %, held against its holders above 75 %, and refused above 85 %', () => {
    const deeds = (share: number) => {
      const { guard, resident, log, open, refusals } = guardOfContainer();
      open('call', 200 * MiB);
      resident.now = share * MiB;
      guard.checkAvailability();
      if ('release' in guard.enter()) guard.refusal();
      return [resident.asked.at(0) ?? null, log.length, refusals.length];
    };
    expect([600, 601, 750, 751, 850, 851].map(deeds)).toEqual([
      [null, 0, 0],
      [false, 0, 0],
      [false, 0, 0],
      [true, 1, 0],
      [true, 1, 0],
      [true, 1, 1],
    ]);
  });

  it('is not looked at by a refusal alone, unless there is something to forget', () => {
    const asked = (kept: number) => {
      const { guard, resident, heap } = guardOfContainer();
      keep(guard, kept);
      heap.live = 850 * MiB;
      resident.now = 900 * MiB;
      guard.checkAvailability();
      const before = resident.asked.length;
      guard.admit();
      return resident.asked.slice(before);
    };
    expect([0, 1].map(asked)).toEqual([[], [true]]);
  });

  it('is looked at by whoever holds 4 MiB more, before more is taken', () => {
    const { guard, resident, open } = guardOfContainer();
    const call = open('call', 4 * MiB + 2);
    resident.now = 900 * MiB;
    call.hold(4 * MiB + 1);
    expect(guard.admit(), 'what shrinks needs no look').not.toBeInstanceOf(ApiError);
    call.hold(4 * MiB + 2);
    expect(guard.admit()).toBeInstanceOf(ApiError);
  });

  it('has room for a body up to 85 %, and above 60 % only after an urgent collection is there none', () => {
    const bodyAt = (share: number, byte = 0) => {
      const { guard, resident } = guardOfContainer();
      resident.now = share * MiB;
      guard.checkAvailability();
      resident.asked.length = 0;
      const isTaken = guard.enter().hold(1 + byte, 1) === null;
      return [isTaken, resident.asked];
    };
    expect(bodyAt(849)).toEqual([true, []]);
    expect(bodyAt(850)).toEqual([false, [true]]);
    const { guard, resident, heap } = guardOfContainer();
    heap.live = 949 * MiB;
    for (const [share, expected] of [
      [599, []],
      [600, [true]],
    ] as const) {
      resident.now = share * MiB;
      guard.worked(5 * MiB);
      resident.asked.length = 0;
      expect(guard.enter().hold(MiB, MiB)).toBeInstanceOf(ApiError);
      expect(resident.asked).toEqual(expected);
    }
  });

  it('lets those go on once each who were paused and are still there, and pauses them again', () => {
    const { guard, resident, log, open } = guardOfContainer();
    const [gone, stays] = [open('gone', 200 * MiB), open('stays', 190 * MiB)];
    const checkAt = (share: number) => {
      resident.now = share * MiB;
      guard.checkAvailability();
      return log.splice(0);
    };
    expect(checkAt(980)).toEqual(['pause gone', 'pause stays']);
    gone.release();
    expect([checkAt(500), checkAt(500)]).toEqual([['resume stays'], []]);
    expect(checkAt(980)).toEqual(['pause stays']);
    stays.release();
    expect(checkAt(500)).toEqual([]);
  });

  it('cuts as many as together hold more than there is too much', () => {
    const cutAt = (...sizes: readonly number[]) => {
      const { guard, resident, log, open } = guardOfContainer();
      for (const bytes of sizes) open(String(bytes), bytes);
      resident.now = 780 * MiB;
      resident.afterCollection = 780 * MiB;
      guard.worked(5 * MiB);
      return log.map((line) => Number(line.split(' ')[1]));
    };
    // 180 MiB above the 60 % to which it is brought.
    expect(cutAt(60 * MiB, 180 * MiB + 1)).toEqual([180 * MiB + 1]);
    expect(cutAt(60 * MiB, 180 * MiB)).toEqual([180 * MiB, 60 * MiB]);
    expect(cutAt(256 * 1024, 256 * 1024 + 1)).toEqual([256 * 1024 + 1]);
  });

  it('counts what was cut as gone before a measurement has seen it, and what ends by itself then only', () => {
    const { guard, resident, log, open, heap } = guardOfContainer();
    const [one] = [open('one', 100 * MiB), open('cut', 200 * MiB)];
    heap.live = 400 * MiB;
    resident.now = 790 * MiB;
    resident.afterCollection = 790 * MiB;
    guard.worked(5 * MiB);
    expect(log).toEqual(['server_overloaded cut']);
    const most = () => {
      resident.now = 100 * MiB;
      guard.checkAvailability();
      let MiBs = 0;
      for (const probe = guard.enter(); !(guard.refusal() instanceof ApiError); ) probe.hold(++MiBs * MiB);
      return MiBs;
    };
    one.release();
    expect(most()).toBe(501); // 400 measured, 200 of them cut; 100 more were freed, in whose place come 100 that are not counted
  });

  it('does not hold on to who has ended', () => {
    const collect = takeCollector();
    const { guard } = guardOfContainer();
    const refs = [1, 2].map(() => {
      const holder = { pause() {}, resume() {}, shed() {} };
      guard.enter(holder).release();
      return new WeakRef(holder);
    });
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      collect();
      expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined]);
    });
  });

  it('does the same for the heap', () => {
    const { guard, resident, log, open } = guardOfContainer(790 * MiB - 600 * MiB);
    open('large', 300 * MiB);
    open('largest', 350 * MiB);
    resident.afterCollection = 100 * MiB;
    guard.checkAvailability();
    expect(log).toEqual(['server_overloaded largest']);
  });
});

/** Exactly at a limit, and a byte or an exchange beyond it. */
describe('the bounds are where they are said to be', () => {
  const nothing = { pause() {}, resume() {}, shed() {} };

  it('of the bodies: as much as the limit, of which what was refused leaves nothing', () => {
    const { guard, refusals } = guardOf({ maxBufferedBytes: 100 });
    const one = admissionOf(guard.admit());
    expect(one.hold(101, 101)).toMatchObject({ message: expect.stringContaining('too many bytes are buffered') });
    expect(guard.held).toBe(0);
    expect(one.hold(100, 100)).toBeNull();
    expect(admissionOf(guard.admit()).hold(1, 1)).toBeInstanceOf(ApiError);
    expect(admissionOf(guard.admit()).hold(50), 'what is no body').toBeNull();
    expect(refusals).toEqual(['buffered_bytes', 'buffered_bytes']);
  });

  it('of the room that connections make: the twentieth more that is left, and no more', () => {
    const { guard } = guardOf({ maxBufferedBytes: 100 });
    const cut: number[] = [];
    for (const bytes of [30, 20, 25])
      guard.enter({ ...nothing, shed: () => void cut.push(bytes), mayTakeLong: true }).hold(bytes, bytes);
    expect(admissionOf(guard.admit()).hold(25, 25)).toBeNull();
    // Without the largest there would be 72: as much is enough. What is smaller than the body makes it no room.
    const next = admissionOf(guard.admit());
    expect(next.hold(2, 2)).toBeNull();
    expect(cut).toEqual([30]);
    expect(next.hold(24, 24)).toBeNull(); // 94
    expect(next.hold(25, 25)).toBeNull(); // 95
    expect(next.hold(30, 30)).toBeNull(); // 100
    expect(next.hold(31, 31)).toBeInstanceOf(ApiError);
    expect(cut).toEqual([30]);
  });

  it('of a body beside the heap: nothing is taken that may lead above 95 %, and what is no body is in memory already', () => {
    const { guard, heap, refusals, collections } = guardOf({ live: 550 * MiB });
    const [one, other, third] = [guard.enter(), guard.enter(), guard.enter()];
    heap.live = 928 * MiB;
    expect(one.hold(MiB, MiB)).toBeNull();
    heap.live += 1;
    expect(other.hold(MiB, MiB)).toMatchObject({ message: expect.stringContaining('memory is low') });
    // What has been made of a part of it already is not to come once more.
    heap.live = 928 * MiB + 1;
    expect(other.hold(12 * MiB, MiB)).toBeInstanceOf(ApiError);
    heap.live = 928 * MiB;
    expect(other.hold(12 * MiB, MiB)).toBeNull();
    other.release();
    heap.live = 950 * MiB;
    expect(third.hold(MiB, 1)).toBeNull();
    heap.live = 960 * MiB;
    expect(third.hold(2 * MiB)).toBeNull();
    expect(one.hold(MiB, MiB), 'it does not grow').toBeNull();
    expect(refusals).toEqual(['memory', 'memory']);
    expect(collections, 'the memory is not short').toEqual([]);
  });

  it('of what is new: a heap of 60 %, a process of 85 %', () => {
    const heapOf = (live: number) => guardOf({ live }).guard.admit() instanceof ApiError;
    expect([600 * MiB, 600 * MiB + 1].map(heapOf)).toEqual([false, true]);
  });

  it('of the check: as many exchanges as the limit, and 64 KiB for one more body while others wait', () => {
    const isLost = (limits: { maxExchanges?: number; maxBufferedBytes?: number }, waiting: readonly number[]) => {
      const { guard } = guardOf(limits);
      for (const bytes of waiting) admissionOf(guard.admit()).hold(bytes, bytes);
      return [1, 2, 3].map(() => guard.checkAvailability()).at(-1) === false;
    };
    expect([0, 1].map((count) => isLost({ maxExchanges: 1 }, Array(count).fill(0)))).toEqual([false, true]);
    const small = 64 * 1024;
    expect([small, small + 1].map((bytes) => isLost({ maxBufferedBytes: 2 * small }, [bytes]))).toEqual([false, true]);
    expect(isLost({ maxBufferedBytes: 100 }, []), 'less than that, while nobody waits').toBe(false);
    expect(isLost({ maxBufferedBytes: 1 }, [1])).toBe(true);
    expect(isLost({ maxBufferedBytes: 0 }, [MiB]), 'without a limit').toBe(false);
  });

  it('of the way back: 85 % of each limit', () => {
    const lost = (limits: { maxExchanges?: number; maxBufferedBytes?: number }) => {
      const { guard, heap } = guardOf(limits);
      const one = admissionOf(guard.admit());
      const most = limits.maxBufferedBytes ?? 0;
      one.hold(most, most);
      if (most === 0) heap.live = 700 * MiB;
      expect([1, 2, 3].map(() => guard.checkAvailability())).toEqual([true, true, false]);
      return { guard, heap, one };
    };
    const bytes = lost({ maxBufferedBytes: 200 * 1024 });
    const isBack = (held: number) => {
      bytes.one.hold(held, held);
      return bytes.guard.checkAvailability();
    };
    expect([106 * 1024 + 1, 106 * 1024].map(isBack)).toEqual([false, true]);
    const heap = lost({});
    expect(
      [510 * MiB + 1, 510 * MiB].map((live) => {
        heap.heap.live = live;
        return heap.guard.checkAvailability();
      }),
    ).toEqual([false, true]);
  });

  it('of a collection that is urgent: more exchanges have ended than run', () => {
    const { guard, heap, collections } = guardOf({});
    heap.live = 700 * MiB;
    guard.checkAvailability();
    heap.live = 0;
    const [one, other] = [admissionOf(guard.admit()), admissionOf(guard.admit())];
    heap.live = 700 * MiB;
    one.release();
    guard.checkAvailability();
    other.release();
    guard.checkAvailability();
    expect(collections).toEqual([false, false, true]);
  });
});

it('all that were admitted are counted, also once they have ended', () => {
  const { guard } = guardOf({ maxExchanges: 2 });
  for (let n = 0; n < 3; n += 1) {
    const answer = guard.admit();
    if (n === 0) admissionOf(answer).release();
  }
  guard.admit();
  expect([guard.admitted, guard.exchanges]).toEqual([3, 2]);
});

it('what is kept for later is forgotten in time, once for each growth', () => {
  const KiB = 1024;
  const { guard } = guardOf({ maxBufferedBytes: 200 * KiB });
  const wanted: number[] = [];
  let kept = 0;
  const resized = guard.setStore((bytes) => {
    wanted.push(bytes);
    // As it forgets one after the other.
    for (const least = kept - bytes; kept > least; resized(kept)) kept -= Math.min(KiB, kept - least);
  });
  const keep = (bytes: number) => {
    kept = bytes;
    resized(kept);
  };
  keep(200 * KiB);
  expect([wanted, guard.held]).toEqual([[], 200 * KiB]);
  keep(200 * KiB + 1);
  expect([wanted, guard.held]).toEqual([[1], 200 * KiB]);
  expect(admissionOf(guard.admit()).hold(100 * KiB, 100 * KiB)).toBeNull();
  expect([wanted, kept, guard.held]).toEqual([[1, 100 * KiB], 100 * KiB, 200 * KiB]);
  expect(
    [1, 2, 3].map(() => guard.checkAvailability()),
    'it is no body that waits',
  ).toEqual([true, true, true]);
});
