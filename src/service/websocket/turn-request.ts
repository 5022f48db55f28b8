import { Buffer } from 'node:buffer';
import { membersOf } from '../../formats/json/members.ts';
import { type Conversation, itemsOf } from './conversations.ts';
import { invalid, readOrRefuse, type TurnError } from './errors.ts';
import { maxFields, type RawFields, readOwnField } from './raw-fields.ts';

/** A `response.create`, decoded when its turn begins. */
export interface TurnRequest {
  /** The fields that are forwarded, in order; an `input` that is listed has its place in them alone, since the first mistake is reported. */
  readonly fields: RawFields;
  /** The items of its own `input`; null if there are none. */
  readonly input: Buffer | null;
  /** Whether the body's `input` is made of those, and of the conversation before them. */
  readonly listsInput: boolean;
  /**
   * Whether it only prepares to continue a conversation (`generate: false`). Then the proxy is sent no item: the server has read those
   * before, and would read all of them again for a message of a hundred bytes. What is new is read with the next turn.
   */
  readonly prewarms: boolean;
  /** The conversation it continues. */
  readonly previous: Conversation | null;
}

/** Fields of the WebSocket protocol alone, which are not forwarded. */
const own = new Set(['type', 'stream_id', 'previous_response_id', 'stream', 'stream_options', 'background']);

/** The id of the response that is to be continued, if the request names one as a string. */
export function previousIdOf(fields: RawFields): string | null {
  try {
    const id = readOwnField(fields, 'previous_response_id', 1);
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}

/**
 * Reads it. `find` gives the conversation that a `previous_response_id` names on this connection. Fields that HTTP has too
 * are validated there.
 */
export function readTurnRequest(
  given: RawFields,
  find: (responseId: string) => Conversation | null,
  maxValues: number,
): TurnRequest | TurnError {
  return readOrRefuse(() => {
    const read = (name: string) => readOwnField(given, name, maxValues) ?? null;
    const [stream, background] = [read('stream'), read('background')];
    // Codex sends `stream: true`, which is what happens anyway.
    if (stream !== null && stream !== true)
      return invalid('unsupported_value', 'stream', "Over a WebSocket every response is streamed. Leave 'stream' out.");
    if (background !== null && background !== false)
      return invalid(
        'unsupported_value',
        'background',
        "A response over a WebSocket cannot run in the background. Leave 'background' out.",
      );
    if (read('stream_options') !== null)
      return invalid(
        'unsupported_parameter',
        'stream_options',
        "'stream_options' is not available over a WebSocket. Leave it out.",
      );

    const previousId = read('previous_response_id');
    const previous = typeof previousId === 'string' ? find(previousId) : null;
    if (previousId !== null && previous === null)
      return invalid(
        'previous_response_not_found',
        'previous_response_id',
        "The response is not known on this connection, which keeps only its last response. Send the full conversation as 'input', without 'previous_response_id'.",
      );
    const fields = new Map([...given].filter(([name]) => !own.has(name)));
    const input = given.get('input') ?? null;
    const isList = input?.[0] === 0x5b;
    // Its brackets are cut off; what is between them is validated where it is sent.
    if (isList && input.at(-1) !== 0x5d) throw new SyntaxError('A list ends with another bracket.');
    if (previous !== null && input !== null && !isList && input[0] !== 0x22 && String(input) !== 'null')
      return invalid('invalid_type', 'input', "'input' must be a string or an array of items.");
    const listsInput = isList || previous !== null;
    if (listsInput) fields.set('input', nothing);
    const prewarms = previous !== null && asksToPrewarm(given);
    return { fields, input: input === null ? null : itemsOf(input), listsInput, prewarms, previous };
  });
}

/** Whether a request has a prompt read without an answer, as the API and as Codex says it. */
function asksToPrewarm(fields: RawFields): boolean {
  if (fields.get('generate')?.equals(no)) return true;
  const cache = fields.get('prompt_cache_options');
  const options = cache === undefined ? [] : (membersOf(cache, 0, maxFields)?.members ?? []);
  const prewarm = options.findLast(({ name }) => name === 'prewarm');
  return prewarm !== undefined && cache?.subarray(prewarm.start, prewarm.end).equals(yes) === true;
}

const [no, yes] = [Buffer.from('false'), Buffer.from('true')];

/** The body of the turn's `POST /v1/responses`, in pieces. */
export function bodyOf({ fields, input, listsInput, prewarms, previous }: TurnRequest): Buffer[] {
  const items = prewarms ? [] : [...(previous?.items ?? []), ...(input === null ? [] : [input])];
  const list = [opening, ...items.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece])), closing];
  const members = [...fields].flatMap(([name, raw]) => {
    const value = listsInput && name === 'input' ? list : [raw];
    return [Buffer.from(`${JSON.stringify(name)}:`), ...value, comma];
  });
  return [Buffer.from('{'), ...members, Buffer.from('"stream":true}')];
}

const nothing = Buffer.alloc(0);
const [opening, closing] = [Buffer.from('['), Buffer.from(']')];
const comma = Buffer.from(',');
