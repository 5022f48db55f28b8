import { closingQuote } from '../json/scan.ts';
import { redactionMark } from './redact.ts';

/** An MCP server's credentials are given with the tool; other names that `isCredential` knows are a prompt's own words here. */
const credentialField =
  /^((proxy-)?authorization|(set-)?cookie|([a-z0-9]+[-_])*api[-_]?key|([a-z0-9]+[-_])*(access|refresh|auth|id|bearer|security)[-_]?token|client[-_]?secret|password)$/i;
const maxNameLength = 64;

/** The last two letters of those names, without case: `key` and `token` end other names too, `role` and `content` do not. */
const credentialEndings = new Set(['on', 'ie', 'ey', 'en', 'et', 'rd'].map((text) => endingOf(Buffer.from(text), 2)));
const minNameLength = 'cookie'.length;

const quoteByte = 0x22;
const colonByte = 0x3a;

/**
 * A JSON body with the text of fields that are called like credentials replaced; the very same bytes where there are none.
 * It goes from colon to colon, which a long prompt has few of, and makes a string only of a name that may be one: to decode
 * a long history takes longer than all the rest of keeping it.
 */
export function redactBody(body: Uint8Array): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const kept: Uint8Array[] = [];
  let from = 0;
  for (let colon = bytes.indexOf(colonByte); colon !== -1; colon = bytes.indexOf(colonByte, colon + 1)) {
    if (!isAfterCredential(bytes, colon)) continue;
    const valueStart = skipSpace(bytes, colon + 1, 1);
    if (bytes[valueStart] !== quoteByte) continue;
    // After its quote; the end of the body where none ends it.
    const valueEnd = Math.min(closingQuote(bytes, valueStart) + 1, bytes.length);
    kept.push(bytes.subarray(from, valueStart), redactedText);
    from = valueEnd;
    colon = valueEnd - 1;
  }
  return from === 0 ? body : Buffer.concat([...kept, bytes.subarray(from)]);
}

const redactedText = Buffer.from(`"${redactionMark}"`);

/** Whether the name of a credential in quotes is before the colon. */
function isAfterCredential(bytes: Buffer, colon: number): boolean {
  const nameEnd = skipSpace(bytes, colon - 1, -1);
  if (bytes[nameEnd] !== quoteByte || !credentialEndings.has(endingOf(bytes, nameEnd))) return false;
  const least = Math.max(nameEnd - maxNameLength - 1, 0);
  let nameStart = nameEnd - 1;
  while (nameStart > least && bytes[nameStart] !== quoteByte) nameStart -= 1;
  if (bytes[nameStart] !== quoteByte || nameEnd - nameStart <= minNameLength) return false;
  return credentialField.test(bytes.toString('latin1', nameStart + 1, nameEnd));
}

/** The two letters before `end` as one number, without case. */
function endingOf(bytes: Buffer, end: number): number {
  return ((((bytes[end - 2] ?? 0) << 8) | (bytes[end - 1] ?? 0)) & 0xffff) | 0x2020;
}

function skipSpace(bytes: Buffer, from: number, step: 1 | -1): number {
  let at = from;
  while (at >= 0 && at < bytes.length && (bytes[at] ?? quoteByte) <= 0x20) at += step;
  return at;
}
