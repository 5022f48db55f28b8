import { Buffer } from 'node:buffer';
import type { JsonFields } from './client-message.ts';
import { type Conversation, itemsOf } from './conversations.ts';
import { invalid, type TurnError } from './errors.ts';

/** What a `response.create` asks for, read when its turn begins. */
export interface TurnRequest {
  /** False: nothing is to be generated; the response is empty and can be continued. */
  readonly generate: boolean;
  /** Without an `input` that is a list of items, or that continues a conversation. */
  readonly fields: JsonFields;
  /** The items of its own `input`; null where there are none. */
  readonly input: Buffer | null;
  /** The conversation that it continues. */
  readonly previous: Conversation | null;
}

/**
 * Reads it. `find` gives the conversation that a `previous_response_id` names on this connection. The fields that are the same
 * over HTTP are left to be judged there.
 */
export function readTurnRequest(
  { generate = true, previous_response_id: previousId = null, ...given }: JsonFields,
  find: (responseId: string) => Conversation | null,
): TurnRequest | TurnError {
  const { stream, background, stream_options: streamOptions, ...fields } = given;
  // Codex sends `stream: true`, which is what happens anyway.
  if (stream != null && stream !== true)
    return invalid('unsupported_value', 'stream', 'Over a WebSocket every response is streamed: leave `stream` out.');
  if (background != null && background !== false)
    return invalid(
      'unsupported_value',
      'background',
      'A response cannot run in the background: leave `background` out.',
    );
  if (streamOptions != null)
    return invalid('unsupported_parameter', 'stream_options', '`stream_options` is not for WebSockets: leave it out.');
  if (typeof generate !== 'boolean') return invalid('invalid_type', 'generate', '`generate` must be a boolean.');
  const { input = null, ...rest } = fields;
  if (previousId === null)
    return { generate, fields: Array.isArray(input) ? rest : fields, input: itemsOf(input), previous: null };

  const previous = typeof previousId === 'string' ? find(previousId) : null;
  if (previous === null)
    return invalid(
      'previous_response_not_found',
      'previous_response_id',
      'The response is not known on this connection, which keeps its last one only: send the whole conversation as `input`, without `previous_response_id`.',
    );
  if (input !== null && typeof input !== 'string' && !Array.isArray(input))
    return invalid('invalid_type', 'input', '`input` must be a string or an array of items.');
  return { generate, fields: rest, input: itemsOf(input), previous };
}

/** The body of the turn's `POST /v1/responses`, in pieces. */
export function bodyOf({ fields, input, previous }: TurnRequest): Buffer[] {
  const head = JSON.stringify({ ...fields, stream: true }).slice(0, -1);
  if ('input' in fields) return [Buffer.from(`${head}}`)];
  const pieces = [...(previous?.items ?? []), ...(input === null ? [] : [input])];
  return [
    Buffer.from(`${head},"input":[`),
    ...pieces.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece])),
    Buffer.from(']}'),
  ];
}

const comma = Buffer.from(',');
