import { expect, it } from 'vitest';
import { Growth } from '../../../../../src/filter/translate/shared/growth.ts';

const MiB = 1024 * 1024;
const text = (length: number) => 'x'.repeat(length - 2);

it('a request may become a mebibyte, however short it is, and eight times its length besides', () => {
  const short = new Growth('');
  short.add(text(MiB), 'input');
  const came = text(1000);
  const longer = new Growth(came);
  longer.add(text(MiB), 'tools[0]');
  for (let part = 0; part < 8; part += 1) longer.add(came, 'input');
  expect(() => longer.add(0, 'input')).toThrow(
    expect.objectContaining({ status: 400, code: 'invalid_value', param: 'input' }),
  );
});
