import { isUtf8 } from 'node:buffer';
import * as z from 'zod/mini';

/** The name of the format in an exchange file, and its version. Files with another version are refused. */
const format = 'responses-extproc exchange';
const version = 1;

const must = (be: string) => ({
  error: (issue: { readonly input?: unknown }) => (issue.input === undefined ? 'is missing' : `must be ${be}`),
});

const text = z.string(must('text'));
const base64 = z.base64(must('text in base64'));
const headers = z.array(z.object({ name: text, value: text }, must('an object')), must('a list of names and values'));

/** A body that is UTF-8 is in `body`, any other in `base64`. */
const request = z.intersection(
  z.object({ method: text, path: text, headers }, must('an object')),
  z.union([z.object({ body: text }), z.object({ base64 })], 'must have its body as text in `body`, or in `base64`'),
);

/** Bytes as they arrived, `at_ms` after the exchange began: as `text` where they are UTF-8, else as `base64`. */
const piece = z.intersection(
  z.object({ at_ms: z.number(must('a number')) }, must('an object')),
  z.union([z.object({ text }), z.object({ base64 })], 'must have its bytes as text in `text`, or in `base64`'),
);

const statusRange = 'must be a status from 100 to 599';
const status = z.int(must('a status from 100 to 599')).check(z.gte(100, statusRange), z.lte(599, statusRange));
const response = z.object({ status, headers, pieces: z.array(piece, must('a list')) }, must('an object'));

const exchangeFile = z.object(
  {
    format: z.literal(format, must(`'${format}'`)),
    version: z.literal(version, must(`${version}, the only version of the file that this service reads`)),
    profile: text,
    started_at: z.iso.datetime({ offset: true, ...must('a time in ISO 8601') }),
    client_request: request,
    /** The request to the upstream; null if the client's request was refused. */
    chat_request: z.nullable(request),
    chat_response: z.nullable(response),
    client_response: z.nullable(response),
    dropped: z.array(text, must('a list of names')),
    outcome: text,
    error: z.nullable(z.record(z.string(), z.unknown(), must('an object or null'))),
  },
  must('an object'),
);

/** Both sides of one exchange: what the inspector downloads and `explain` reads, as UTF-8 JSON. */
export type ExchangeFile = z.output<typeof exchangeFile>;
export type ExchangeFileRequest = z.output<typeof request>;
export type ExchangeFilePiece = z.output<typeof piece>;

export const exchangeFileHead = { format, version } as const;

/** Whether a parsed JSON value claims to be an exchange file, of any version. */
export function hasExchangeFormat(value: unknown): boolean {
  return z.object({ format: z.literal(format) }).safeParse(value).success;
}

/** The exchange in a parsed JSON value. Throws an `Error` that names each field which is not as it should be, one a line. */
export function parseExchangeFile(value: unknown): ExchangeFile {
  const result = exchangeFile.safeParse(value);
  if (result.success) return result.data;
  throw new Error(result.error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`).join('\n'));
}

export function buildPiece(at_ms: number, bytes: Buffer): ExchangeFilePiece {
  return isUtf8(bytes) ? { at_ms, text: bytes.toString() } : { at_ms, base64: bytes.toString('base64') };
}

export function decodeRecorded(content: ExchangeFilePiece | ExchangeFileRequest): Buffer {
  if ('base64' in content) return Buffer.from(content.base64, 'base64');
  return Buffer.from('text' in content ? content.text : content.body);
}
