import { invalid, type TurnError } from './errors.ts';

/** What a client's text message asks for. */
export type ClientMessage =
  | { readonly type: 'create'; readonly fields: JsonFields; readonly streamId: string | null }
  | { readonly type: 'steer'; readonly steer: Readonly<Record<string, unknown>>; readonly inputIsValid: boolean }
  | { readonly type: 'invalid'; readonly error: TurnError; readonly streamId: string | null };

/** An object that a client sent. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** Longer ids would be repeated in every event. */
const MAX_STREAM_ID_LENGTH = 256;

/** Reads a message as far as its type and its lane; what a turn asks for is read when the turn begins. */
export function readClientMessage(text: string): ClientMessage {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refused(invalid('invalid_json', null, 'The message is not valid JSON.'));
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return refused(invalid('invalid_json', null, 'The message must be a JSON object with a `type`.'));
  const { type, ...fields } = message as JsonFields;
  if (type === 'response.steer') {
    const { previous_response_id, input } = fields;
    const inputIsValid = typeof input === 'string' || (Array.isArray(input) && input.length > 0);
    return { type: 'steer', steer: { previous_response_id, input }, inputIsValid };
  }
  if (type !== 'response.create')
    return refused(
      invalid(
        'unsupported_value',
        'type',
        `\`type\` must be \`response.create\`${typeof type === 'string' ? `, not \`${type.slice(0, 64)}\`` : ''}.`,
      ),
    );
  const { stream_id: streamId = null, ...rest } = fields;
  if (streamId !== null && (typeof streamId !== 'string' || streamId === '' || streamId.length > MAX_STREAM_ID_LENGTH))
    return refused(
      invalid(
        'invalid_type',
        'stream_id',
        `\`stream_id\` must be a string of 1 to ${MAX_STREAM_ID_LENGTH} characters.`,
      ),
    );
  return { type: 'create', fields: rest, streamId };
}

/**
 * `response.steer.failed`, with the input given back: input that joins a running response needs a server that keeps it, which a
 * Chat server is not.
 */
export function steerFailed({ steer, inputIsValid }: ClientMessage & { readonly type: 'steer' }): string {
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    steer,
    error: {
      type: 'invalid_request_error', // the only value that the event has
      code: inputIsValid ? 'steering_not_supported' : 'invalid_input',
      message: inputIsValid
        ? 'A running response cannot be steered here: send the input with the next `response.create`.'
        : '`input` must be a string or a non-empty array of items.',
    },
  });
}

function refused(error: TurnError): ClientMessage {
  return { type: 'invalid', error, streamId: null };
}
