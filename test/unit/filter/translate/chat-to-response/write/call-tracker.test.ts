import { expect, it } from 'vitest';
import { CallTracker } from '../../../../../../src/filter/translate/chat-to-response/write/call-tracker.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';

class CountedSet extends Set<string> {
  walks = 0;

  override [Symbol.iterator]() {
    this.walks += 1;
    return super[Symbol.iterator]();
  }
}

it('the tools are walked once for names that do not continue a call’s', () => {
  const tools = new CountedSet(['get', 'get_weather']);
  const tracker = new CallTracker(tools, new HeldBytes());
  const piece = { index: 0, id: '', text: '', isCustom: false };
  for (const name of ['get', '_wea', 'ther', 'x', 'y', 'x', '_']) tracker.track({ ...piece, name } as never);
  expect(tracker.calls.map(({ name }) => name)).toEqual(['get_weather']);
  // One for each of the pieces that continue it, and one for the first of the others.
  expect(tools.walks).toBe(3);
});
