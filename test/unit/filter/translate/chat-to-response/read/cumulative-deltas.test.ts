import { expect, it } from 'vitest';
import { CumulativeDeltas } from '../../../../../../src/filter/translate/chat-to-response/read/cumulative-deltas.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';

const place = new HeldBytes().add('delta');

it.each(['content', 'refusal', 'reasoning_content', 'reasoning', 'reasoning_text', 'thinking'])(
  'what is new in `%s` is found, and the text so far counted',
  (field) => {
    const held = new HeldBytes();
    const deltas = new CumulativeDeltas(held);
    const texts = ['Hello', 'Hello world', 'Hello world', ''];
    expect(texts.map((text) => deltas.newIn({ [field]: text }, 0))).toEqual([
      { [field]: 'Hello' },
      { [field]: ' world' },
      { [field]: '' },
      { [field]: '' },
    ]);
    expect(held.bytes).toBe(place + `0 ${field}Hello world`.length);
  },
);
