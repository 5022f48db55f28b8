import type { BodyMode } from './types.ts';

/**
 * What a body mode lets a leg do with the headers after they have arrived. The modes differ in this and in the form of a
 * body reply (`extproc/serialize-reply.ts`), and in nothing else.
 *
 * - `deferred`: no reply until the leg decides; then any number of replies, including unsolicited ones (full duplex).
 * - `with_body`: replied to at once; the reply to the one message with the whole body may still change them.
 * - `replaceable`: replied to at once and no longer changeable, but Envoy keeps them until the body's reply, so an
 *   immediate response still replaces them.
 * - `sent`: replied to at once and forwarded; every message has exactly one reply.
 */
export type HeaderTiming = 'deferred' | 'with_body' | 'replaceable' | 'sent';

/** When headers are committed in each mode. */
export const headerTimings: Readonly<Record<BodyMode, HeaderTiming>> = {
  FULL_DUPLEX_STREAMED: 'deferred',
  BUFFERED: 'with_body',
  BUFFERED_PARTIAL: 'replaceable',
  STREAMED: 'sent',
  NONE: 'sent',
};
