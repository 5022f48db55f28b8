import { expect, it } from 'vitest';
import { CumulativeDeltas } from '../../../../../../src/filter/translate/chat-to-response/read/cumulative-deltas.ts';
import { Kept } from '../../../../../../src/filter/translate/shared/kept.ts';

it.each(['content', 'reasoning_content', 'reasoning'])(
  'what is new in `%s` is found, and the text so far counted',
  (field) => {
    const kept = new Kept();
    const deltas = new CumulativeDeltas(kept);
    const texts = ['Hello', 'Hello world', 'Hello world', ''];
    expect(texts.map((text) => deltas.newIn({ [field]: text }))).toEqual([
      { [field]: 'Hello' },
      { [field]: ' world' },
      { [field]: '' },
      { [field]: '' },
    ]);
    expect(kept.bytes).toBe('Hello world'.length);
  },
);
