/** A turn on a WebSocket, by the id of its request. */
export interface WebSocketTurn {
  /** The connection: all of its turns have it. */
  readonly connection: string;
  readonly number: number;
}

/** Which turn a request was; null for one that came over HTTP. `websocket/forward.ts` makes these ids. */
export function webSocketTurnOf(requestId: string | null): WebSocketTurn | null {
  const [, connection, number] = /^(.+)-turn-(\d+)$/.exec(requestId ?? '') ?? [];
  return connection === undefined ? null : { connection, number: Number(number) };
}
