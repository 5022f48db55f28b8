import { objectOf } from '../../formats/json/loose.ts';
import { readJson } from './raw-fields.ts';

/** A Response as an event carries it. Its id has been checked. */
export interface RunningResource {
  readonly id: string;
  readonly output?: unknown;
}

/** The fields of an event. Its type has been checked. */
export interface EventFields {
  readonly type: string;
  readonly sequence_number?: unknown;
  readonly delta?: unknown;
  readonly stream_id?: unknown;
}

/** An event that carries the Response. */
export type ResourceEvent = EventFields & { readonly response: RunningResource };

/** An event of a turn's answer, by how it is handled. */
export type StreamEvent =
  | { readonly kind: 'response'; readonly fields: ResourceEvent }
  | { readonly kind: 'item'; readonly fields: EventFields & ItemFields }
  | { readonly kind: 'error' | 'other'; readonly fields: EventFields };

/** Further fields of an event that carries a whole item. */
export interface ItemFields {
  readonly output_index: number;
  readonly item: { readonly id?: unknown };
}

const withResponse = /^response\.(?:created|queued|in_progress|completed|incomplete|failed)$/;
const withItem = /^response\.output_item\.(?:added|done)$/;

/**
 * Reads the data of an event: a JSON object with a `type` and the fields that this type promises. Null for any other data. The
 * answer may come from any server, because the client's headers choose the proxy's virtual host.
 */
export function readStreamEvent(data: string, maxValues: number): StreamEvent | null {
  const fields = objectOf<Record<'type' | 'response' | 'output_index' | 'item', unknown>>(readJson(data, maxValues));
  if (typeof fields?.type !== 'string') return null;
  if (withResponse.test(fields.type))
    return typeof objectOf<{ id?: unknown }>(fields.response)?.id === 'string'
      ? { kind: 'response', fields: fields as ResourceEvent }
      : null;
  if (withItem.test(fields.type))
    return objectOf<object>(fields.item) !== null && typeof fields.output_index === 'number'
      ? { kind: 'item', fields: fields as EventFields & ItemFields }
      : null;
  return { kind: fields.type === 'error' ? 'error' : 'other', fields: fields as EventFields };
}
