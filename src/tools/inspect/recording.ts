/**
 * The bodies of an exchange: the request and the answer, each as the client and as the upstream has it, and the message on a
 * WebSocket of which the client's request was made.
 */
export const bodyNames = [
  'client_request',
  'chat_request',
  'chat_response',
  'client_response',
  'websocket_message',
] as const;
export type BodyName = (typeof bodyNames)[number];

export function buildPerBody<Value>(make: () => Value): Record<BodyName, Value> {
  return Object.fromEntries(bodyNames.map((name) => [name, make()])) as Record<BodyName, Value>;
}

/** The most bytes that are held until a body, or an event of a stream, is complete. Longer ones are not kept. */
export const maxBodyBytes = 8 * 1024 * 1024;

/** The user agent of the readiness checks of `npm start`, which are not recorded, because no user sent them. */
export const probeAgent = 'responses-extproc-probe';

export interface RoundTripLink {
  /** The id of the exchange that this one continues; null for the first of a conversation. */
  readonly parent: number | null;
  readonly messages: number;
  /** The number of the parent's messages with which this request begins too, byte for byte. */
  readonly kept_messages: number;
  readonly differs_at: string | null;
}
