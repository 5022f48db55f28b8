import { jsonTextOf, objectOf, textOf } from './chat/loose.ts';

/**
 * What a stateless service must get back to continue a turn, carried by the client in `encrypted_content`. It is encoded,
 * not encrypted: the client could read the same text in the item, and the signatures are the upstream's.
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

/** The same, as it comes back from a client. */
type LooseEnvelope = { readonly [Field in keyof ReasoningEnvelope]?: unknown };
/** Keyed by ids. */
type LooseSignatures = Readonly<Record<string, unknown>>;

const PREFIX = 'orr1.';

/** The envelope as text for `encrypted_content`. */
export function encodeReasoningEnvelope(envelope: ReasoningEnvelope): string {
  // Details that cannot be written are left out: only the upstream would have used them.
  const json = jsonTextOf(envelope) || jsonTextOf({ ...envelope, d: undefined });
  return PREFIX + Buffer.from(json).toString('base64url');
}

/**
 * Reads what `encodeReasoningEnvelope` wrote. Null for the blobs of others (OpenAI's own, for example), broken ones, and what
 * is nested deeper than `maxNesting`: the body's own limit cannot see inside.
 */
export function decodeReasoningEnvelope(text: string, maxNesting: number): ReasoningEnvelope | null {
  if (!text.startsWith(PREFIX)) return null;
  let value: LooseEnvelope | null;
  try {
    value = objectOf<LooseEnvelope>(JSON.parse(Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8')));
  } catch {
    return null;
  }
  if (value === null || !isNestedWithin(value, maxNesting)) return null;
  const signatures = objectOf<LooseSignatures>(value.g);
  return {
    ...(textOf(value.t) !== '' && { t: textOf(value.t) }),
    ...(Array.isArray(value.d) && { d: value.d as readonly unknown[] }),
    ...(signatures !== null && {
      g: Object.fromEntries(
        Object.entries(signatures).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      ),
    }),
    ...(textOf(value.p) !== '' && { p: textOf(value.p) }),
  };
}

function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isNestedWithin(inner, levels - 1));
}
