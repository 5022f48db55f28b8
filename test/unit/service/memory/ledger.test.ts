import { expect, test } from 'vitest';
import { Account, Ledger } from '../../../../src/service/memory/ledger.ts';

test('a ledger has the sum of what its accounts hold, by kind, in the heap and outside', () => {
  const ledger = new Ledger();
  const one = new Account(ledger);
  const other = new Account(ledger);
  one.set('received', 100);
  one.set('stream', 10);
  other.set('received', 50);
  other.set('unsent', 7);
  one.set('received', 60);
  expect([ledger.of('received'), ledger.heap, ledger.outside, ledger.total()]).toEqual([110, 10, 117, 127]);
  expect([one.total(), other.total()]).toEqual([70, 57]);
  one.close();
  one.set('received', 1000);
  expect([ledger.heap, ledger.outside, one.total()]).toEqual([0, 57, 0]);
});
