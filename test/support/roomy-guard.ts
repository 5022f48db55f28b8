import { OverloadGuard, type OverloadLimits } from '../../src/service/memory/overload.ts';

/** A guard that memory never makes act: only the given limits may refuse anything. */
export function roomyGuard(limits: Partial<OverloadLimits> = {}): OverloadGuard {
  const heap = { limit: 2 ** 40, live: 0, pages: () => 0, collect: () => false };
  const resident = { limit: 2 ** 40, bytes: () => 0 };
  return new OverloadGuard({ maxExchanges: 0, maxBufferedBytes: 0, ...limits }, heap, () => {}, resident);
}
