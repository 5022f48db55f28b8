import { createHash } from 'node:crypto';
import { jsonOf, jsonTextOf, objectOf, textOf } from '../../../formats/json/loose.ts';
import { hasMoreValues, scanJson } from '../../../formats/json/scan.ts';
import type { Loose, LooseGoogleExtras } from '../../wire/schema/chat-completion.ts';
import type { ExtraContent, OpaqueFields } from '../../wire/schema/chat-request.ts';

/**
 * What a stateless service must get back to continue a conversation, carried by the client in `encrypted_content`. An envelope is encoded,
 * not encrypted: it holds the client's own conversation and the upstream's signatures, and any replica can read it after any restart.
 */

const reasoningPrefix = 'orr1.';
const compactionPrefix = 'orc1.';

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
  /** `provider_specific_fields` of calls, by the same keys. */
  readonly f?: Readonly<Record<string, ProviderFields>>;
  /** Thought signatures of calls in fields of their own, by the same keys. */
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
  const packed = { g: new Map<string, string>(), x: new Map(), f: new Map(), s: new Map() };
  for (const [callId, carried] of Object.entries(byCall)) {
    const { extra_content: content, provider_specific_fields: fields, ...beside } = carried;
    if (Object.keys(beside).length > 0) packed.s.set(callId, beside);
    if (fields !== undefined) packed.f.set(callId, fields);
    if (content === undefined) continue;
    const signature = readSignature(content);
    const isAlone = Object.keys(content).length === 1 && Object.keys(objectOf(content.google) ?? {}).length === 1;
    if (signature !== '' && isAlone) packed.g.set(callId, signature);
    else packed.x.set(callId, content);
  }
  const filled = Object.entries(packed).filter(([, entries]) => entries.size > 0);
  return Object.fromEntries(filled.map(([key, entries]) => [key, Object.fromEntries(entries)]));
}

export function unpackOpaqueFields({ g, x, f, s }: PackedFields): Readonly<Record<string, OpaqueFields>> {
  const unpacked = new Map<string, OpaqueFields>();
  const add = (callId: string, fields: OpaqueFields) => unpacked.set(callId, { ...unpacked.get(callId), ...fields });
  for (const [callId, signature] of Object.entries(g ?? {})) add(callId, { extra_content: googleExtra(signature) });
  for (const [callId, content] of Object.entries(x ?? {})) add(callId, { extra_content: content });
  for (const [callId, fields] of Object.entries(f ?? {})) add(callId, { provider_specific_fields: fields });
  for (const [callId, signatures] of Object.entries(s ?? {})) add(callId, signatures);
  return Object.fromEntries(unpacked);
}

/** Gemini's thought signature as its endpoint takes it. */
export function googleExtra(signature: string): ExtraContent {
  return { google: { thought_signature: signature } };
}

/** Gemini's thought signature in that content; `''` for none. */
export function readSignature(content: ExtraContent): string {
  return textOf(objectOf<LooseGoogleExtras>(content.google)?.thought_signature);
}

export function encodeReasoningEnvelope(envelope: ReasoningEnvelope): string {
  // Values nested too deeply to be written are left out: only the upstream would have used them.
  const json = jsonTextOf(envelope) || jsonTextOf({ t: envelope.t, g: envelope.g, p: envelope.p });
  return reasoningPrefix + Buffer.from(json).toString('base64url');
}

/**
 * Reads what `encodeReasoningEnvelope` wrote, and counts its JSON values. Null for what another server wrote, for a broken envelope, and
 * for one that is nested deeper than `maxNesting`; `too_many_values` for more than `maxValues`. The limits of the body did not apply inside
 * the text, so they are applied here, before it is parsed.
 */
export function decodeReasoningEnvelope(
  text: string,
  maxNesting: number,
  maxValues: number,
): { readonly envelope: ReasoningEnvelope; readonly values: number } | 'too_many_values' | null {
  if (!text.startsWith(reasoningPrefix)) return null;
  const json = decodeBehind(reasoningPrefix, text);
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

function byId<Kept>(values: unknown, isKept: (value: unknown) => value is Kept): Readonly<Record<string, Kept>> {
  const entries = Object.entries(objectOf<Readonly<Record<string, unknown>>>(values) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, Kept] => isKept(entry[1])));
}

/** A client could have changed the envelope: nothing but these fields, as text, goes to a call. */
function areSignatures(value: unknown): value is OwnSignatures {
  const entries = Object.entries(objectOf(value) ?? { '': null });
  return entries.every(([name, text]) => /^thought(?:S|_s)ignature$/.test(name) && typeof text === 'string');
}

function isFields(value: unknown): value is ProviderFields {
  return objectOf(value) !== null;
}

/** The envelope of a `compaction` item: a summary of the conversation. A client that forged one would only change its own conversation. */
export interface CompactionEnvelope {
  readonly text: string;
  readonly model?: string;
}

/** JSON values of the largest compaction envelope that is read, above any that is written here. */
const maxCompactionValues = 16;

/** The text has the envelope's version, and a checksum that reveals damage. */
export function encodeCompactionEnvelope({ text, model }: CompactionEnvelope): string {
  const written = { v: 1, text, model, sum: checksum(text) };
  return compactionPrefix + Buffer.from(JSON.stringify(written)).toString('base64url');
}

/** Reads an envelope: `foreign` for what other servers wrote, `damaged` for ours that was cut or changed. */
export function decodeCompactionEnvelope(given: string): CompactionEnvelope | 'foreign' | 'damaged' {
  if (!given.startsWith(compactionPrefix)) return 'foreign';
  const json = decodeBehind(compactionPrefix, given);
  if (hasMoreValues(json, maxCompactionValues)) return 'damaged';
  const value = objectOf<Loose<'v' | 'text' | 'model' | 'sum'>>(jsonOf(json));
  const text = textOf(value?.text);
  if (value === null || value.v !== 1 || text === '' || value.sum !== checksum(text)) return 'damaged';
  const model = textOf(value.model);
  return { text, ...(model === '' ? {} : { model }) };
}

function decodeBehind(prefix: string, text: string): string {
  return Buffer.from(text.slice(prefix.length), 'base64url').toString('utf8');
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
