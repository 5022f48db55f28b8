import type { BodyMode } from './types.ts';

/**
 * What a body mode lets a leg do with the headers once they came. This and the form of a body reply
 * (`extproc/encode.ts`) are all that differs between the modes.
 *
 * - `deferred`: no reply until the leg knows; then any number of replies, also unasked (full duplex).
 * - `with_body`: replied to at once, changed by the reply to the one message that holds the whole body.
 * - `replaceable`: replied to at once and for good, but Envoy keeps them until the body's reply: an immediate response still replaces them.
 * - `sent`: replied to at once and sent on; every message has exactly one reply.
 */
export type HeaderTiming = 'deferred' | 'with_body' | 'replaceable' | 'sent';

const timings: Readonly<Record<BodyMode, HeaderTiming>> = {
  FULL_DUPLEX_STREAMED: 'deferred',
  BUFFERED: 'with_body',
  BUFFERED_PARTIAL: 'replaceable',
  STREAMED: 'sent',
  NONE: 'sent',
};

/** What may still be done with headers in that mode. */
export function headerTimingOf(mode: BodyMode): HeaderTiming {
  return timings[mode];
}
