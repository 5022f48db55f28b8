import { objectOf } from '../../formats/json/loose.ts';
import { parseBounded } from '../../formats/json/scan.ts';

/** A Response as an event carries it; only its id is certain. */
export interface RunningResource {
  readonly id: string;
  readonly output?: unknown;
}

/** The object of an event, with what its sender put into it. */
export interface EventFields {
  readonly type: string;
  readonly sequence_number?: unknown;
  readonly delta?: unknown;
  readonly stream_id?: unknown;
}

/** An event of a turn's answer, by what this side does with it. */
export type StreamEvent =
  | { readonly kind: 'response'; readonly fields: EventFields & { readonly response: RunningResource } }
  | { readonly kind: 'item'; readonly fields: EventFields & ItemFields }
  | { readonly kind: 'error' | 'other'; readonly fields: EventFields };

/** The fields of an event that carries a whole item. */
export interface ItemFields {
  readonly output_index: number;
  readonly item: { readonly id?: unknown };
}

/** Events that carry the Response. */
const withResponse = /^response\.(?:created|queued|in_progress|completed|incomplete|failed)$/;
const withItem = /^response\.output_item\.(?:added|done)$/;

/**
 * Reads the data of an event: a JSON object with a `type`, which has the fields that its type promises. Null for any other data:
 * the answer may be from any server, since the client's headers choose the proxy's virtual host. Also null for what `parseBounded`
 * refuses.
 */
export function readStreamEvent(data: string, maxValues: number): StreamEvent | null {
  const fields = objectOf<LooseObject>(parsed(data, maxValues));
  if (typeof fields?.type !== 'string') return null;
  if (withResponse.test(fields.type))
    return typeof objectOf<LooseObject>(fields.response)?.id === 'string'
      ? { kind: 'response', fields: fields as EventFields & { readonly response: RunningResource } }
      : null;
  if (withItem.test(fields.type))
    return objectOf<LooseObject>(fields.item) !== null && typeof fields.output_index === 'number'
      ? { kind: 'item', fields: fields as EventFields & ItemFields }
      : null;
  return { kind: fields.type === 'error' ? 'error' : 'other', fields: fields as EventFields };
}

/** An object of which nothing is known. */
interface LooseObject {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly response?: unknown;
  readonly output_index?: unknown;
  readonly item?: unknown;
}

function parsed(data: string, maxValues: number): unknown {
  try {
    return parseBounded(data, maxValues);
  } catch {
    return null;
  }
}
