import { expect, it } from 'vitest';
import { checkOut } from '../../../bench/trees.ts';

it.each(['no-such-branch', '--force', 'HEAD:package.json', ''])(
  'a comparison with %j, which is no commit, is refused',
  (ref) => {
    expect(() => checkOut(ref, () => {})).toThrow(`git knows no commit "${ref}"`);
  },
);
