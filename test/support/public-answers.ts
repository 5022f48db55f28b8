import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { parse } from 'yaml';

/** One answer of a Chat Completions server, as another project recorded it. */
export interface PublicAnswer {
  /** The host of the request, or the folder's name if only answers were kept. */
  readonly server: string;
  /** The file in its repository, and which answer of it. */
  readonly source: string;
  readonly status: number;
  /** The names of the tools that were offered. */
  readonly tools: readonly string[];
  /** The body, decompressed: JSON, or a stream of events. */
  readonly body: string;
}

/** The Chat Completions answers in a file: a cassette of vcrpy, of Ruby's VCR, or a fixture of the AI SDK. Empty for any other file. */
export function publicAnswersIn(path: string, text: string): readonly PublicAnswer[] {
  if (/\.ya?ml$/.test(path)) return text.includes('/chat/completions') ? cassetteAnswers(path, text) : [];
  const server = /packages\/([^/]+)\//.exec(path)?.[1];
  if (server === undefined || !path.includes('__fixtures__')) return [];
  const body = fixtureBody(path, text);
  return body === null ? [] : [{ server, source: path, status: 200, tools: [], body }];
}

function fixtureBody(path: string, text: string): string | null {
  if (path.endsWith('.sse')) return /"chat\.completion\.chunk"/.test(text) ? text : null;
  const lines = path.endsWith('.json') ? [text] : text.split('\n').filter((line) => line.trim() !== '');
  const first = objectOf(parsed(lines[0] ?? ''));
  const [choice] = Array.isArray(first?.['choices']) ? first['choices'] : [];
  if (path.endsWith('.json')) return objectOf(objectOf(choice)?.['message']) === null ? null : text;
  if (first?.['object'] !== 'chat.completion.chunk') return null;
  return [...lines, '[DONE]'].map((line) => `data: ${line}\n\n`).join('');
}

/** Ruby writes the tag with one exclamation mark. */
const rubyBinary = { tag: '!binary', resolve: (text: string) => Buffer.from(text, 'base64') };

function cassetteAnswers(path: string, text: string): PublicAnswer[] {
  const cassette = objectOf(
    parse(text, { schema: 'yaml-1.1', customTags: [rubyBinary], maxAliasCount: -1, logLevel: 'silent' }),
  );
  const interactions = cassette?.['interactions'] ?? cassette?.['http_interactions'];
  return (Array.isArray(interactions) ? interactions : []).flatMap((value, index): PublicAnswer[] => {
    const request = objectOf(objectOf(value)?.['request']);
    const response = objectOf(objectOf(value)?.['response']);
    const url = URL.parse(String(request?.['uri']));
    if (request === null || response === null || url === null || !url.pathname.endsWith('/chat/completions')) return [];
    const body = bodyOf(response);
    if (body === null || body === '') return [];
    const status = Number(objectOf(response['status'])?.['code']);
    const tools = toolNamesOf(objectOf(parsed(bodyOf(request) ?? '')));
    return [{ server: url.hostname, source: `${path}#${index}`, status, tools, body }];
  });
}

/** The body of a request or response, in the forms that cassettes use; null if it cannot be read. */
function bodyOf(message: Record<string, unknown>): string | null {
  if (message['parsed_body'] !== undefined) return JSON.stringify(message['parsed_body']);
  const holder = objectOf(message['body']);
  const body = holder?.['string'] ?? holder?.['base64_string'] ?? message['body'];
  if (body instanceof Uint8Array) return decompressed(Buffer.from(body));
  if (typeof body !== 'string') return null;
  return holder?.['base64_string'] === undefined ? body : decompressed(Buffer.from(body, 'base64'));
}

/** By its first bytes: recorders may keep or drop the header, whether or not they decoded the body. */
function decompressed(bytes: Buffer): string | null {
  const start = bytes.subarray(0, 4).toString('hex');
  try {
    if (start.startsWith('1f8b')) return gunzipSync(bytes).toString('utf8');
    if (start === '28b52ffd') return zstdDecompressSync(bytes).toString('utf8');
    const text = bytes.toString('utf8');
    if (/^\s*(\{|data:|:|event:|id:)/.test(text)) return text;
    if (start.startsWith('78')) return inflateSync(bytes).toString('utf8');
    return brotliDecompressSync(bytes).toString('utf8');
  } catch {
    return null;
  }
}

function toolNamesOf(request: Record<string, unknown> | null): string[] {
  const tools = Array.isArray(request?.['tools']) ? request['tools'] : [];
  return tools.flatMap((tool) => {
    const name = objectOf(objectOf(tool)?.['function'])?.['name'];
    return typeof name === 'string' ? [name] : [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? (value as Record<string, unknown>)
    : null;
}
