/** Which turn of which connection a request was; null for one that came over HTTP. `websocket/forward.ts` makes these ids. */
export function webSocketTurnOf(requestId: string | null) {
  const [, connection, number] = /^(.+)-turn-(\d+)$/.exec(requestId ?? '') ?? [];
  return connection === undefined ? null : { connection, number: Number(number) };
}
