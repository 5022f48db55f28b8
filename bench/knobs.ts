/** What the bench's upstream should answer. It travels in the model name, which no filter changes. */
export interface Knobs {
  readonly tokens: number;
  /** Milliseconds between two tokens; 0 sends them as fast as the socket takes them. */
  readonly pauseMs: number;
  /** Bytes of one token's text, at least those of its marker. */
  readonly tokenBytes: number;
}

/** A token's text opens with `@`, 16 digits of the monotonic clock in ns, `#`, 7 digits of its index. */
export const markerBytes = 1 + 16 + 1 + 7;

const pattern = /bench-(\d+)-(\d+)-(\d+)/;

export function modelOf({ tokens, pauseMs, tokenBytes }: Knobs): string {
  return `bench-${tokens}-${pauseMs}-${tokenBytes}`;
}

/** The knobs in a request body, without parsing it; null if there are none. The name may come late, after a long history. */
export function knobsIn(body: Buffer): Knobs | null {
  const found =
    pattern.exec(body.toString('latin1', 0, 4096)) ?? pattern.exec(body.toString('latin1', body.length - 4096));
  if (found === null) return null;
  const [, tokens = '', pauseMs = '', tokenBytes = ''] = found;
  return { tokens: Number(tokens), pauseMs: Number(pauseMs), tokenBytes: Math.max(Number(tokenBytes), markerBytes) };
}

/** The text of one token, made now. */
export function tokenText(index: number, filler: string): string {
  return `@${String(process.hrtime.bigint()).padStart(16, '0')}#${String(index).padStart(7, '0')}${filler}`;
}

/** Plain words: the bench measures usual text, the tests cover unusual text. */
export function fillerOf({ tokenBytes }: Knobs): string {
  const words = ' the quick brown fox jumps over the lazy dog and runs away';
  const size = tokenBytes - markerBytes;
  return words.repeat(Math.ceil(size / words.length)).slice(0, size);
}
