import type { Buffer } from 'node:buffer';
import { invalid, readOrRefuse, type TurnError } from './errors.ts';
import { parseRaw, readOwnField, readRawFields } from './raw-fields.ts';

export type ClientMessage =
  | { readonly type: 'create'; readonly streamId: string | null }
  | { readonly type: 'steer'; readonly steer: Readonly<Record<string, unknown>>; readonly inputIsValid: boolean }
  | { readonly type: 'interrupt'; readonly responseId: string };

/** A steering message is sent back to the client, so it has a limit of its own. */
const maxSteerBytes = 1024 * 1024;
/** Every event repeats the id. */
const maxStreamIdLength = 256;

/** Parses the type and the lane of a client's message. The rest of a request is parsed when its turn begins. */
export function parseClientMessage(data: Buffer, maxValues: number): ClientMessage | TurnError {
  return readOrRefuse(() => {
    const fields = readRawFields(data, maxValues);
    if (fields === null) return invalid('invalid_json', null, "The message must be a JSON object with a 'type'.");
    const read = (name: string) => readOwnField(fields, name, maxValues);
    const type = read('type');
    if (type === 'response.steer') {
      if (data.length > maxSteerBytes) throw new RangeError(`A 'response.steer' may have ${maxSteerBytes} bytes.`);
      const raw = fields.get('input');
      const input = raw === undefined ? undefined : parseRaw(raw, maxValues);
      const previous_response_id = read('previous_response_id');
      const inputIsValid = typeof input === 'string' || (Array.isArray(input) && input.length > 0);
      return { type: 'steer', steer: { previous_response_id, input }, inputIsValid };
    }
    if (type === 'response.interrupt') {
      const responseId = read('response_id');
      if (typeof responseId !== 'string')
        return invalid('invalid_type', 'response_id', "'response_id' must be a string.");
      if (read('mode') !== 'discard_partial_items')
        return invalid('unsupported_value', 'mode', "'mode' must be 'discard_partial_items'.");
      return { type: 'interrupt', responseId };
    }
    if (type !== 'response.create') {
      const given = typeof type === 'string' ? `, not '${type.slice(0, 64)}'` : '';
      return invalid('unsupported_value', 'type', `'type' must be 'response.create'${given}.`);
    }
    const streamId = read('stream_id') ?? null;
    if (streamId !== null && (typeof streamId !== 'string' || streamId === '' || streamId.length > maxStreamIdLength)) {
      const message = `'stream_id' must be a string of 1 to ${maxStreamIdLength} characters.`;
      return invalid('invalid_type', 'stream_id', message);
    }
    return { type: 'create', streamId };
  });
}

/** Writes the event that returns the input of a `response.steer`: a Chat server cannot add input to a running response. */
export function writeSteerFailed({ steer, inputIsValid }: ClientMessage & { readonly type: 'steer' }): string {
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    steer,
    error: {
      type: 'invalid_request_error', // the only value that the event has
      code: inputIsValid ? 'steering_not_supported' : 'invalid_input',
      message: inputIsValid
        ? "A running response cannot be steered here. Send the input with the next 'response.create'."
        : "'input' must be a string or a non-empty array of items.",
    },
  });
}
