import { scanJson } from '../wire/json/scan.ts';
import type { LooseGoogleExtras } from '../wire/schema/chat-completion.ts';
import type { ExtraContent, OpaqueFields } from '../wire/schema/chat-request.ts';
import { jsonOf, jsonTextOf, objectOf, textOf } from './chat/loose.ts';

/**
 * What a stateless service must get back to continue a turn, carried by the client in `encrypted_content`. It is encoded,
 * not encrypted: the client could read the same text in the item, and the signatures are the upstream's.
 */
export interface ReasoningEnvelope {
  /** The reasoning text. */
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
  /** Name of the profile that made it: only its server gets back what is not text. */
  readonly p?: string;
}

type ProviderFields = NonNullable<OpaqueFields['provider_specific_fields']>;

/** An envelope as it comes back from a client. */
type LooseEnvelope = { readonly [Field in keyof ReasoningEnvelope]?: unknown };
/** Keyed by ids. */
type LooseById = Readonly<Record<string, unknown>>;

/** What the fields of calls and messages are in an envelope, by `call_id`. */
type PackedFields = Pick<ReasoningEnvelope, 'g' | 'x' | 'f'>;

/** Opaque fields by `call_id`, as the envelope holds them: nearly all are one thought signature and nothing else. */
export function packOpaqueFields(byCall: Readonly<Record<string, OpaqueFields>>): PackedFields {
  const signatures: [string, string][] = [];
  const others: [string, ExtraContent][] = [];
  const ofProviders: [string, ProviderFields][] = [];
  for (const [callId, { extra_content: content, provider_specific_fields: fields }] of Object.entries(byCall)) {
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
  };
}

/** The reverse of `packOpaqueFields`. */
export function unpackOpaqueFields({ g = {}, x = {}, f = {} }: PackedFields): Readonly<Record<string, OpaqueFields>> {
  const contents = new Map<string, ExtraContent>([
    ...Object.entries(g).map(([callId, signature]) => [callId, googleExtra(signature)] as const),
    ...Object.entries(x),
  ]);
  const fields = new Map(Object.entries(f));
  const callIds = new Set([...contents.keys(), ...fields.keys()]);
  return Object.fromEntries(
    Array.from(callIds, (callId) => [callId, fieldsOf(contents.get(callId), fields.get(callId))]),
  );
}

function fieldsOf(content: ExtraContent | undefined, fields: ProviderFields | undefined): OpaqueFields {
  return {
    ...(content !== undefined && { extra_content: content }),
    ...(fields !== undefined && { provider_specific_fields: fields }),
  };
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
  const bytes = Buffer.from(text.slice(envelopePrefix.length), 'base64url');
  const { values, tooDeepAt } = scanJson(bytes, { maxNesting, maxValues });
  if (values > maxValues) return 'too_many_values';
  if (tooDeepAt !== null) return null;
  const value = objectOf<LooseEnvelope>(jsonOf(bytes.toString('utf8')));
  if (value === null) return null;
  const signatures = objectOf<LooseById>(value.g);
  const extras = objectOf<LooseById>(value.x);
  const ofProviders = objectOf<LooseById>(value.f);
  const envelope = {
    ...(textOf(value.t) !== '' && { t: textOf(value.t) }),
    ...(Array.isArray(value.d) && { d: value.d as readonly unknown[] }),
    ...(Array.isArray(value.b) && { b: value.b as readonly unknown[] }),
    ...(signatures !== null && {
      g: Object.fromEntries(
        Object.entries(signatures).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      ),
    }),
    ...(extras !== null && { x: objectsById(extras) }),
    ...(ofProviders !== null && { f: objectsById(ofProviders) }),
    ...(textOf(value.p) !== '' && { p: textOf(value.p) }),
  };
  return { envelope, values };
}

function objectsById(values: LooseById): Readonly<Record<string, ProviderFields>> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, ProviderFields] => objectOf(entry[1]) !== null),
  );
}
