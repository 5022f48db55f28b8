import type { BodyMode } from './types.ts';

/**
 * What a body mode lets a leg do with the headers once they came. This and the form of a body reply
 * (`extproc/encode.ts`) are all that differs between the modes.
 *
 * - `withheld`: no reply until the leg knows; then any number of replies, also unasked (full duplex).
 * - `with_body`: replied to at once, changed by the reply to the one message that holds the whole body.
 * - `refusable`: replied to at once and for good, but Envoy keeps them until the body's reply: an immediate response still replaces them.
 * - `gone`: replied to at once and sent on; every message has exactly one reply.
 */
export type HeaderHold = 'withheld' | 'with_body' | 'refusable' | 'gone';

const holds: Readonly<Record<BodyMode, HeaderHold>> = {
  FULL_DUPLEX_STREAMED: 'withheld',
  BUFFERED: 'with_body',
  BUFFERED_PARTIAL: 'refusable',
  STREAMED: 'gone',
  NONE: 'gone',
};

/** What may still be done with headers in that mode. */
export function headerHoldOf(mode: BodyMode): HeaderHold {
  return holds[mode];
}
