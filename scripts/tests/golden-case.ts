import {
  decodeRecorded,
  type ExchangeFile,
  type ExchangeFilePiece,
  type ExchangeFileRequest,
} from '../../src/tools/files/exchange-file.ts';
import { isEventStream } from '../../src/tools/inspect/view/answer-parts.ts';
import { decodeBase64Url } from '../../src/tools/inspect/view/event-lines.ts';
import { indentJsonText, writeIndentedJson } from '../../src/tools/inspect/view/json-lines.ts';
import { parseShown } from '../../src/tools/inspect/view/timeline.ts';
import { eventLines } from '../../test/support/stream-lines.ts';

/** A case for `test/golden`: a new file, or text to append to an existing one. */
export interface GoldenCaseFile {
  /** `request-saved-….md`, which tells the runner the kind of case. */
  readonly name: string;
  readonly markdown: string;
}

/** As `findEndpoint` has it: a request that is not translated has no case. */
type Endpoint = string | null;

const createdAt = 1_800_000_000;
const completedAt = createdAt + 2;

/**
 * The request of an exchange as a case: what the client sent, and the Chat request or the error that it became. Null for a
 * request that is not JSON, was not translated, or was not kept whole.
 */
export function requestCase(file: ExchangeFile, endpoint: Endpoint, title: string): GoldenCaseFile | null {
  const sent = jsonOf(file.client_request);
  if (sent === null || endpoint === null || file.outcome === 'passed') return null;
  const settings = settingsOf(file, endpoint);
  const error = file.chat_request === null ? errorOf(file) : null;
  const chat = file.chat_request === null ? null : jsonOf(file.chat_request);
  if (error === null && chat === null) return null;
  const blocks = [
    block('json request', sent),
    ...(settings === null ? [] : [block('json settings', settings)]),
    ...(error === null ? [] : [block('json error', writeIndentedJson({ status: error.status, error: error.error }))]),
    ...(chat === null ? [] : [block('json chat', withCountedIds(chat, idsIn(sent)))]),
    ...(chat === null || file.dropped.length === 0 ? [] : [block('json dropped', writeIndentedJson(file.dropped))]),
  ];
  return { name: 'request-saved.md', markdown: caseOf('Requests that were saved', title, file, blocks) };
}

/**
 * The answer of an exchange as a case: what the upstream sent, and what the client got. Null if no case can be
 * made of it.
 */
export function answerCase(file: ExchangeFile, endpoint: Endpoint, title: string): GoldenCaseFile | null {
  const { chat_response: upstream, client_response: client } = file;
  const sent = jsonOf(file.client_request);
  if (upstream === null || client === null || sent === null || endpoint === null) return null;
  if (file.outcome === 'passed') return null;
  if (upstream.status >= 300) return errorCase(file, title);
  if (client.status >= 300) return null;
  const settings = settingsOf(file, endpoint);
  const request = [block('json request', sent), ...(settings === null ? [] : [block('json settings', settings)])];
  const received = textOfPieces(client.pieces);
  const bytes = bytesOfPieces(upstream.pieces);
  if (isEventStream(client)) {
    const chunks = isEventStream(upstream)
      ? streamBlock(bytes)
      : block('json upstream json', indentJsonText(bytes.toString()));
    const events = eventLines(withCountedIds(withoutComments(received), new Set()));
    const blocks = [...request, chunks, block('events client', events.join('\n'))];
    return { name: 'stream-saved.md', markdown: caseOf('Streams that were saved', title, file, blocks) };
  }
  const response = parseShown(received);
  if (isEventStream(upstream) || typeof response !== 'object' || response === null) return null;
  const blocks = [
    ...request,
    block('json upstream', indentJsonText(bytes.toString())),
    block('json client', withCountedIds(writeIndentedJson(asRunnerHasIt(response)), new Set())),
  ];
  return { name: 'completion-saved.md', markdown: caseOf('JSON answers that were saved', title, file, blocks) };
}

/** For `errors.md`. */
function errorCase(file: ExchangeFile, title: string): GoldenCaseFile | null {
  const { chat_response: upstream, client_response: client } = file;
  const error = errorOf(file);
  if (upstream === null || client === null || error === null) return null;
  const kept = upstream.headers.filter(({ name }) => name === 'content-type' || name === 'retry-after');
  const head = [String(upstream.status), ...kept.map(({ name, value }) => `${name}: ${value}`)];
  const retryAfter = client.headers.find(({ name }) => name === 'retry-after');
  const outcome = {
    status: error.status,
    ...error.error,
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter.value } }),
  };
  const body = textOfPieces(upstream.pieces);
  const blocks = [
    block('http upstream', `${head.join('\n')}\n\n${body}`),
    block('json client', writeIndentedJson(outcome)),
  ];
  return { name: 'errors-saved.md', markdown: caseOf('Errors that were saved', title, file, blocks) };
}

function caseOf(heading: string, title: string, file: ExchangeFile, blocks: readonly string[]): string {
  const why = `Saved from the inspector, ${file.started_at}. Say here what is wrong, and write the outcome as it should be.`;
  return `# ${heading}\n\n## ${oneLine(title)}\n\n${why}\n\n${blocks.join('\n\n')}\n`;
}

function oneLine(title: string): string {
  const line = title.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').trim();
  return line === '' ? 'a saved exchange' : line;
}

/** A fenced block. No line of its text begins with a fence: JSON is indented, and streams are escaped. */
function block(name: string, text: string): string {
  return `\`\`\`${name}\n${text}\n\`\`\``;
}

/** As text if that is safe, else with line ends and other bytes escaped. */
function streamBlock(bytes: Buffer): string {
  const text = bytes.toString();
  const isPlain = text.endsWith('\n\n') && !/\r|^```|\ufffd|^\ufeff/m.test(text);
  return isPlain ? block('sse upstream', text.slice(0, -1)) : block('sse upstream escaped', escaped(bytes));
}

function escaped(bytes: Buffer): string {
  let text = '';
  for (const byte of bytes) {
    if (byte === 0x0a) text += '\\n\n';
    else if (byte === 0x0d) text += '\\r';
    else if (byte === 0x5c) text += '\\\\';
    else if (byte >= 0x20 && byte < 0x7f && !(byte === 0x60 && (text === '' || text.endsWith('\n'))))
      text += String.fromCharCode(byte);
    else text += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return text;
}

/** The runner numbers this service's ids in the order in which they are made. */
function withCountedIds(text: string, kept: ReadonlySet<string>): string {
  const counts = new Map<string, number>();
  const names = new Map<string, string>();
  return text.replace(ownId, (id, prefix: string) => {
    if (kept.has(id)) return id;
    const known = names.get(id);
    if (known !== undefined) return known;
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    names.set(id, `${prefix}_${count}`);
    return `${prefix}_${count}`;
  });
}

const ownId = /\b([a-z]+)_[0-9a-f]{32}\b/g;

function idsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(ownId) ?? []);
}

/** The runner's clock is fixed, and it shows the contents of envelopes. */
function asRunnerHasIt(response: object): unknown {
  const atRunnersTime = {
    ...response,
    ...('created_at' in response ? { created_at: createdAt } : {}),
    ...('completed_at' in response && response.completed_at !== null ? { completed_at: completedAt } : {}),
  };
  return JSON.parse(JSON.stringify(atRunnersTime), (key, value: unknown) =>
    key === 'encrypted_content' && typeof value === 'string' && value.startsWith('orr1.')
      ? JSON.parse(decodeBase64Url(value.slice('orr1.'.length)))
      : value,
  );
}

/** Their number depends on how the upstream's bytes were cut. */
function withoutComments(stream: string): string {
  return stream
    .split('\n\n')
    .filter((message) => !message.startsWith(':'))
    .join('\n\n');
}

/** The settings that a case must state; null for the defaults. */
function settingsOf(file: ExchangeFile, endpoint: string): string | null {
  const settings = {
    ...(file.profile === 'generic' ? {} : { profile: file.profile }),
    ...(endpoint === 'responses' ? {} : { endpoint }),
  };
  return Object.keys(settings).length === 0 ? null : writeIndentedJson(settings);
}

function errorOf({ client_response: client }: ExchangeFile): { status: number; error: object } | null {
  if (client === null) return null;
  const body = parseShown(textOfPieces(client.pieces));
  if (typeof body !== 'object' || body === null || !('error' in body)) return null;
  return typeof body.error === 'object' && body.error !== null ? { status: client.status, error: body.error } : null;
}

/** The body in a readable form; null if it is not JSON. */
function jsonOf(request: ExchangeFileRequest): string | null {
  if (!('body' in request)) return null;
  const value = parseShown(request.body);
  return typeof value === 'object' && value !== null ? indentJsonText(request.body) : null;
}

function bytesOfPieces(pieces: readonly ExchangeFilePiece[]): Buffer {
  return Buffer.concat(pieces.map(decodeRecorded));
}

function textOfPieces(pieces: readonly ExchangeFilePiece[]): string {
  return bytesOfPieces(pieces).toString();
}
