import { createHash } from 'node:crypto';
import { jsonOf, objectOf, textOf } from '../../../formats/json/loose.ts';
import { scanJson } from '../../../formats/json/scan.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';

/**
 * A summary of a conversation, carried by the client in the `encrypted_content` of a `compaction` item. It is encoded, not
 * encrypted, and needs no key: it holds nothing but the client's own conversation, and a client that forged one would only
 * change its own conversation. Any replica can read it, after any restart.
 */
export interface CompactionEnvelope {
  readonly text: string;
  /** The model that wrote it, as the upstream names it. */
  readonly model?: string;
}

const envelopePrefix = 'orc1.';

/** Longest envelope that is read, above any that is written here: a larger one was not written here. */
const maxValues = 16;

/** The envelope as text for `encrypted_content`: with its version, and a checksum that reveals damage. */
export function encodeCompactionEnvelope({ text, model }: CompactionEnvelope): string {
  const written = { v: 1, text, model, sum: sumOf(text) };
  return envelopePrefix + Buffer.from(JSON.stringify(written)).toString('base64url');
}

/** Reads an envelope: `foreign` for what other servers wrote, `damaged` for ours that was cut or changed. */
export function decodeCompactionEnvelope(given: string): CompactionEnvelope | 'foreign' | 'damaged' {
  if (!given.startsWith(envelopePrefix)) return 'foreign';
  const json = Buffer.from(given.slice(envelopePrefix.length), 'base64url').toString('utf8');
  if (scanJson(json, { maxValues }).values > maxValues) return 'damaged';
  const value = objectOf<Loose<'v' | 'text' | 'model' | 'sum'>>(jsonOf(json));
  const text = textOf(value?.text);
  if (value === null || value.v !== 1 || text === '' || value.sum !== sumOf(text)) return 'damaged';
  const model = textOf(value.model);
  return { text, ...(model === '' ? {} : { model }) };
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
