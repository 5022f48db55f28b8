import * as z from 'zod';

/** Marks the file, and the version of its form: a reader refuses others. */
const format = 'responses-extproc exchange';
const version = 1;

const headers = z.array(z.object({ name: z.string(), value: z.string() }));

/** The body as `body` where it is UTF-8, else as `base64`. */
const request = z.intersection(
  z.object({ method: z.string(), path: z.string(), headers }),
  z.union([z.object({ body: z.string() }), z.object({ base64: z.base64() })]),
);

/** Bytes as they arrived, `at_ms` after the exchange began: as `text` where they are UTF-8, else as `base64`. */
const piece = z.intersection(
  z.object({ at_ms: z.number() }),
  z.union([z.object({ text: z.string() }), z.object({ base64: z.base64() })]),
);

const response = z.object({ status: z.int().min(100).max(599), headers, pieces: z.array(piece) });

const exchangeFile = z.object({
  format: z.literal(format),
  version: z.literal(version),
  /** The profile's name. */
  profile: z.string(),
  /** ISO 8601. */
  started_at: z.iso.datetime({ offset: true }),
  client_request: request,
  /** Null where the request was refused. */
  chat_request: request.nullable(),
  chat_response: response.nullable(),
  client_response: response.nullable(),
  /** As `x-responses-dropped` names it. */
  dropped: z.array(z.string()),
  outcome: z.string(),
  error: z.record(z.string(), z.unknown()).nullable(),
});

/** One exchange, both sides of it: what the inspector downloads and `explain` reads, as UTF-8 JSON. */
export type ExchangeFile = z.output<typeof exchangeFile>;
export type ExchangeFileRequest = z.output<typeof request>;
export type ExchangeFilePiece = z.output<typeof piece>;

/** What the file says of itself, for whoever writes one. */
export const exchangeFileHead = { format, version } as const;

/** Whether a parsed JSON value says that it is an exchange, of whatever version. */
export function saysItIsAnExchange(value: unknown): boolean {
  return z.object({ format: z.literal(format) }).safeParse(value).success;
}

/** The exchange in a parsed JSON value. Throws an `Error` that names each field which is not as it should be, one a line. */
export function readExchangeFile(value: unknown): ExchangeFile {
  const result = exchangeFile.safeParse(value);
  if (result.success) return result.data;
  throw new Error(result.error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`).join('\n'));
}

/** These bytes as a piece has them. */
export function pieceOf(at_ms: number, bytes: Uint8Array): ExchangeFilePiece {
  const text = utf8Of(bytes);
  return text === null ? { at_ms, base64: Buffer.from(bytes).toString('base64') } : { at_ms, text };
}

/** These bytes as a request has its body. */
export function bodyOf(bytes: Uint8Array): { readonly body: string } | { readonly base64: string } {
  const body = utf8Of(bytes);
  return body === null ? { base64: Buffer.from(bytes).toString('base64') } : { body };
}

/** The bytes of a piece or of a request's body. */
export function bytesOf(content: ExchangeFilePiece | ExchangeFileRequest): Buffer {
  if ('base64' in content) return Buffer.from(content.base64, 'base64');
  return Buffer.from('text' in content ? content.text : content.body);
}

/** Null for bytes that are not UTF-8. */
function utf8Of(bytes: Uint8Array): string | null {
  try {
    // A byte order mark is bytes like any other.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
