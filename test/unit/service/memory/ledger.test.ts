import { expect, test } from 'vitest';
import { Account, Ledger } from '../../../../src/service/memory/ledger.ts';

test('a ledger has the sum of what its accounts hold, and of that the bodies', () => {
  const ledger = new Ledger();
  const one = new Account(ledger);
  const other = new Account(ledger);
  one.set(110, 100);
  other.set(50, 50);
  other.setUnsent(7);
  one.set(70, 60);
  expect([ledger.bytes, ledger.bodies, ledger.heap]).toEqual([127, 110, 17]);
  expect([one.held, one.body, one.total, other.total]).toEqual([70, 60, 70, 57]);
  one.close();
  one.set(1000, 1000);
  one.setUnsent(1000);
  expect([ledger.bytes, ledger.bodies, one.total]).toEqual([57, 50, 0]);
});
