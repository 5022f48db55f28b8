import { jsonOf, jsonTextOf, objectOf, textOf } from '../../../formats/json/loose.ts';
import { scanJson } from '../../../formats/json/scan.ts';
import type { Loose, LooseGoogleExtras } from '../../wire/schema/chat-completion.ts';
import type { ExtraContent, OpaqueFields } from '../../wire/schema/chat-request.ts';

/**
 * The data that a stateless service must get back to continue a turn, carried by the client in `encrypted_content`. It is encoded,
 * not encrypted: the client could read the same text in the item, and the signatures are the upstream's.
 */
export interface ReasoningEnvelope {
  readonly t?: string;
  /** `reasoning_details` as OpenRouter wants them back, merged by index. */
  readonly d?: readonly unknown[];
  /** Anthropic's signed `thinking_blocks`, as LiteLLM wants them back. */
  readonly b?: readonly unknown[];
  /** Gemini thought signatures by `call_id`; the key `''` is the message's own. */
  readonly g?: Readonly<Record<string, string>>;
  /** Any other `extra_content`, by the same keys, as it came. */
  readonly x?: Readonly<Record<string, ExtraContent>>;
  /** `provider_specific_fields` of calls, likewise. */
  readonly f?: Readonly<Record<string, ProviderFields>>;
  /** Thought signatures of calls in fields of their own, likewise. */
  readonly s?: Readonly<Record<string, OwnSignatures>>;
  /** Name of the profile that made it: only its server gets back what is not text. */
  readonly p?: string;
}

type ProviderFields = NonNullable<OpaqueFields['provider_specific_fields']>;
type OwnSignatures = Pick<OpaqueFields, 'thoughtSignature' | 'thought_signature'>;

/** The fields of calls and messages in an envelope, by `call_id`. */
type PackedFields = Pick<ReasoningEnvelope, 'g' | 'x' | 'f' | 's'>;

/** Opaque fields by `call_id`, as the envelope holds them: nearly all are one thought signature and nothing else. */
export function packOpaqueFields(byCall: Readonly<Record<string, OpaqueFields>>): PackedFields {
  const signatures: [string, string][] = [];
  const others: [string, ExtraContent][] = [];
  const ofProviders: [string, ProviderFields][] = [];
  const own: [string, OwnSignatures][] = [];
  for (const [callId, carried] of Object.entries(byCall)) {
    const { extra_content: content, provider_specific_fields: fields, ...beside } = carried;
    if (Object.keys(beside).length > 0) own.push([callId, beside]);
    if (fields !== undefined) ofProviders.push([callId, fields]);
    if (content === undefined) continue;
    const signature = signatureOf(content);
    const isAlone = Object.keys(content).length === 1 && Object.keys(objectOf(content.google) ?? {}).length === 1;
    if (signature !== '' && isAlone) signatures.push([callId, signature]);
    else others.push([callId, content]);
  }
  return {
    ...(signatures.length > 0 && { g: Object.fromEntries(signatures) }),
    ...(others.length > 0 && { x: Object.fromEntries(others) }),
    ...(ofProviders.length > 0 && { f: Object.fromEntries(ofProviders) }),
    ...(own.length > 0 && { s: Object.fromEntries(own) }),
  };
}

/** The reverse of `packOpaqueFields`. */
export function unpackOpaqueFields({
  g = {},
  x = {},
  f = {},
  s = {},
}: PackedFields): Readonly<Record<string, OpaqueFields>> {
  const contents = new Map<string, ExtraContent>([
    ...Object.entries(g).map(([callId, signature]) => [callId, googleExtra(signature)] as const),
    ...Object.entries(x),
  ]);
  const fields = new Map(Object.entries(f));
  const own = new Map(Object.entries(s));
  const callIds = new Set([...contents.keys(), ...fields.keys(), ...own.keys()]);
  const unpacked = Array.from(callIds, (callId): [string, OpaqueFields] => {
    const [content, given] = [contents.get(callId), fields.get(callId)];
    const signatures = own.get(callId);
    return [
      callId,
      { ...(content && { extra_content: content }), ...(given && { provider_specific_fields: given }), ...signatures },
    ];
  });
  return Object.fromEntries(unpacked);
}

/** Gemini's thought signature as its endpoint takes it. */
export function googleExtra(signature: string): ExtraContent {
  return { google: { thought_signature: signature } };
}

/** Gemini's thought signature in that content; `''` for none. */
export function signatureOf(content: ExtraContent): string {
  return textOf(objectOf<LooseGoogleExtras>(content.google)?.thought_signature);
}

const envelopePrefix = 'orr1.';

/** The envelope as text for `encrypted_content`. */
export function encodeReasoningEnvelope(envelope: ReasoningEnvelope): string {
  // Values nested too deeply to be written are left out: only the upstream would have used them.
  const json = jsonTextOf(envelope) || jsonTextOf({ t: envelope.t, g: envelope.g, p: envelope.p });
  return envelopePrefix + Buffer.from(json).toString('base64url');
}

/**
 * Reads what `encodeReasoningEnvelope` wrote, and counts its JSON values. Null for the blobs of other servers (OpenAI's
 * own, say), broken ones, and what is nested deeper than `maxNesting`; `too_many_values` for more than `maxValues`. Neither
 * is parsed. The limits of the body do not apply inside: they are applied again here.
 */
export function decodeReasoningEnvelope(
  text: string,
  maxNesting: number,
  maxValues: number,
): { readonly envelope: ReasoningEnvelope; readonly values: number } | 'too_many_values' | null {
  if (!text.startsWith(envelopePrefix)) return null;
  const json = Buffer.from(text.slice(envelopePrefix.length), 'base64url').toString('utf8');
  const { values, tooDeepAt } = scanJson(json, { maxNesting, maxValues });
  if (values > maxValues) return 'too_many_values';
  if (tooDeepAt !== null) return null;
  const value = objectOf<Loose<keyof ReasoningEnvelope>>(jsonOf(json));
  if (value === null) return null;
  const { t, d, b, g, x, f, s, p } = value;
  const envelope = {
    ...(textOf(t) !== '' && { t: textOf(t) }),
    ...(Array.isArray(d) && { d: d as readonly unknown[] }),
    ...(Array.isArray(b) && { b: b as readonly unknown[] }),
    ...(objectOf(g) !== null && { g: byId(g, (entry): entry is string => typeof entry === 'string') }),
    ...(objectOf(x) !== null && { x: byId(x, isFields) }),
    ...(objectOf(f) !== null && { f: byId(f, isFields) }),
    ...(objectOf(s) !== null && { s: byId(s, areSignatures) }),
    ...(textOf(p) !== '' && { p: textOf(p) }),
  };
  return { envelope, values };
}

/** The entries of the object that are of the kind. */
function byId<Kept>(values: unknown, isKept: (value: unknown) => value is Kept): Readonly<Record<string, Kept>> {
  const entries = Object.entries(objectOf<Readonly<Record<string, unknown>>>(values) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, Kept] => isKept(entry[1])));
}

/** A client could have changed them: nothing but these fields, as text, goes to a call. */
function areSignatures(value: unknown): value is OwnSignatures {
  const entries = Object.entries(objectOf(value) ?? { '': null });
  return entries.every(([name, text]) => /^thought(?:S|_s)ignature$/.test(name) && typeof text === 'string');
}

function isFields(value: unknown): value is ProviderFields {
  return objectOf(value) !== null;
}
