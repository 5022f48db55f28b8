import { jsonTextOf, type Loose, objectOf, textOf } from '../schema/chat-completion.ts';

/**
 * What a stateless service must get back to continue a turn, carried by the client in `encrypted_content`. It is a
 * carrier and no secret: the client could read the same text in the item, and signatures are made by the upstream.
 */
export interface ReasoningEnvelope {
  /** The reasoning text. */
  readonly t?: string;
  /** `reasoning_details` as OpenRouter wants them back, merged by index. */
  readonly d?: readonly unknown[];
  /** Gemini thought signatures by `call_id`; the key `''` is the message's own. */
  readonly g?: Readonly<Record<string, string>>;
  /** Name of the profile that made it: details and signatures go back to no other. */
  readonly p?: string;
}

const PREFIX = 'orr1.';

/** The envelope as text for `encrypted_content`. */
export function encodeReasoningEnvelope(envelope: ReasoningEnvelope): string {
  // Details that cannot be written are the upstream's loss alone.
  const json = jsonTextOf(envelope) || jsonTextOf({ ...envelope, d: undefined });
  return PREFIX + Buffer.from(json).toString('base64url');
}

/**
 * Reads what `encodeReasoningEnvelope` wrote. Null for everybody else's blobs (OpenAI's own, say), broken ones, and what
 * goes deeper than `maxNesting`: the body's own limit does not see inside.
 */
export function decodeReasoningEnvelope(text: string, maxNesting: number): ReasoningEnvelope | null {
  if (!text.startsWith(PREFIX)) return null;
  let value: Loose | null;
  try {
    value = objectOf(JSON.parse(Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8')));
  } catch {
    return null;
  }
  if (value === null || !isNestedWithin(value, maxNesting)) return null;
  const signatures = objectOf(value['g']);
  return {
    ...(textOf(value['t']) !== '' && { t: textOf(value['t']) }),
    ...(Array.isArray(value['d']) && { d: value['d'] as readonly unknown[] }),
    ...(signatures !== null && {
      g: Object.fromEntries(
        Object.entries(signatures).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      ),
    }),
    ...(textOf(value['p']) !== '' && { p: textOf(value['p']) }),
  };
}

function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isNestedWithin(inner, levels - 1));
}
