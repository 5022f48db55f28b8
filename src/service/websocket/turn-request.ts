import { Buffer } from 'node:buffer';
import { estimatedTokens } from '../../filter/index.ts';
import { joinBytes } from '../../formats/bytes/growing-bytes.ts';
import { findMembers, findValueEnd, skipSpace } from '../../formats/json/members.ts';
import { type Conversation, readInputItems } from './conversations.ts';
import { invalid, readOrRefuse, type TurnError } from './errors.ts';
import { maxFields, type RawFields, readOwnField } from './raw-fields.ts';

/** A `response.create`, as its turn begins. */
export interface TurnRequest {
  /** The forwarded fields, in the client's order, so that the error names the first mistake. With `listsInput`, `input` is empty. */
  readonly fields: RawFields;
  /** The items of the request's own `input`; null if there are none. */
  readonly input: Buffer | null;
  /** Whether the body's `input` is a list of the conversation's items and the request's own. */
  readonly listsInput: boolean;
  /**
   * The request only prepares to continue a conversation (`generate: false`), and is sent without items: the server has read the
   * conversation, and would read all of it again for a message of a hundred bytes. The next turn has the new items.
   */
  readonly prewarms: boolean;
  /** The conversation that the request continues. */
  readonly previous: Conversation | null;
}

/** Fields that only the WebSocket protocol has, which are not forwarded. */
const own = new Set(['type', 'stream_id', 'previous_response_id', 'stream', 'stream_options', 'background']);

/** Reads the id of the response to continue; null unless the request has it as a string. */
export function readPreviousId(fields: RawFields): string | null {
  try {
    const id = readOwnField(fields, 'previous_response_id', 1);
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}

/** Fields with a single value over a WebSocket, which they may also leave out: Codex sends `stream: true`. */
const fixedFields = [
  ['stream', true, "Over a WebSocket every response is streamed. Leave 'stream' out."],
  ['background', false, "A response over a WebSocket cannot run in the background. Leave 'background' out."],
  ['stream_options', null, "'stream_options' is not available over a WebSocket. Leave it out."],
] as const;
const unknownResponse =
  "The response is not known on this connection, which keeps only its last response. Send the full conversation as 'input', without 'previous_response_id'.";

/** Parses a `response.create` that continues `previous`. The proxy validates the fields that HTTP has too. */
export function parseTurnRequest(
  given: RawFields,
  previous: Conversation | null,
  maxValues: number,
): TurnRequest | TurnError {
  return readOrRefuse(() => {
    const read = (name: string) => readOwnField(given, name, maxValues) ?? null;
    for (const [name, allowed, message] of fixedFields) {
      const value = read(name);
      if (value === null || value === allowed) continue;
      return invalid(allowed === null ? 'unsupported_parameter' : 'unsupported_value', name, message);
    }
    if (read('previous_response_id') !== null && previous === null)
      return invalid('previous_response_not_found', 'previous_response_id', unknownResponse);
    const fields = new Map([...given].filter(([name]) => !own.has(name)));
    const input = given.get('input') ?? null;
    const isList = input?.[0] === 0x5b;
    // The brackets are cut off; what is between them is validated over HTTP.
    if (isList && input.at(-1) !== 0x5d) throw new SyntaxError('A list ends with another bracket.');
    if (previous !== null && input !== null && !isList && input[0] !== 0x22 && String(input) !== 'null')
      return invalid('invalid_type', 'input', "'input' must be a string or an array of items.");
    const listsInput = isList || previous !== null;
    if (listsInput) fields.set('input', nothing);
    const prewarms = previous !== null && asksToPrewarm(given);
    return { fields, input: input === null ? null : readInputItems(input), listsInput, prewarms, previous };
  });
}

/** Whether a request has a prompt read without an answer: the API says so in `prompt_cache_options`, Codex in `generate`. */
function asksToPrewarm(fields: RawFields): boolean {
  if (fields.get('generate')?.equals(no)) return true;
  const cache = fields.get('prompt_cache_options');
  const options = cache === undefined ? [] : (findMembers(cache, 0, maxFields)?.members ?? []);
  const prewarm = options.findLast(({ name }) => name === 'prewarm');
  return prewarm !== undefined && cache?.subarray(prewarm.start, prewarm.end).equals(yes) === true;
}

const [no, yes] = [Buffer.from('false'), Buffer.from('true')];

/** Writes the body of the turn's `POST /v1/responses`, in pieces. */
export function writeBody(request: TurnRequest): Buffer[] {
  const { fields, listsInput, prewarms } = request;
  const items = prewarms ? [] : listItems(request);
  const list = [opening, ...items.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece])), closing];
  const members = [...fields].flatMap(([name, raw]) => {
    const value = listsInput && name === 'input' ? list : [raw];
    return [Buffer.from(`${JSON.stringify(name)}:`), ...value, comma];
  });
  return joinSmall([Buffer.from('{'), ...members, Buffer.from('"stream":true}')]);
}

const joinedBytes = 64 * 1024;

/** Joins small pieces of a request's body: each piece that waits for the proxy takes some 300 bytes beside its own. */
function joinSmall(pieces: readonly Buffer[]): Buffer[] {
  const groups: Buffer[][] = [[]];
  let bytes = 0;
  for (const piece of pieces) {
    bytes += piece.length;
    if (bytes <= joinedBytes) groups.at(-1)?.push(piece);
    else {
      groups.push([piece]);
      bytes = piece.length;
    }
  }
  return groups.map(([only = nothing, ...more]) => (more.length === 0 ? only : joinBytes([only, ...more])));
}

const nothing = Buffer.alloc(0);
const [opening, closing] = [Buffer.from('['), Buffer.from(']')];
const comma = Buffer.from(',');

function listItems({ input, previous }: Pick<TurnRequest, 'input' | 'previous'>): Buffer[] {
  return [...(previous?.items ?? []), ...(input === null ? [] : [input])];
}

/** Estimates the tokens of a request whose body has `bodyBytes`. */
export function estimateInputTokens(request: Pick<TurnRequest, 'input' | 'previous'>, bodyBytes: number): number {
  return estimatedTokens(bodyBytes, listItems(request).flatMap(findMediaBytes));
}

/** Fields that hold media or refer to them. Inside a text, the quotes of such a name would have backslashes. */
const mediaFields = ['image_url', 'file_data', 'file_url', 'file_id', 'input_audio'];
const quotedFields = mediaFields.map((name) => Buffer.from(`"${name}"`));
/** More fields of one name count as text. */
const maxMedia = 10_000;
const colon = 0x3a;

/** Finds the media among items, which are JSON joined by commas, and returns the size of each. */
export function findMediaBytes(items: Buffer): number[] {
  const found: number[] = [];
  for (const name of quotedFields) {
    let count = 0;
    for (let at = items.indexOf(name); at !== -1 && count < maxMedia; at = items.indexOf(name, at)) {
      const colonAt = skipSpace(items, at + name.length);
      at = colonAt;
      if (items[colonAt] !== colon) continue;
      const start = skipSpace(items, colonAt + 1);
      at = Math.max(findValueEnd(items, start), start);
      found.push(at - start);
      count += 1;
    }
  }
  return found;
}
