/** The WebSocket turn that a request belongs to: its connection and number. It is null for a request over HTTP. */
export function readWebSocketTurn(requestId: string | null) {
  const [, connection, number] = /^(.+)-turn-(\d+)$/.exec(requestId ?? '') ?? [];
  return connection === undefined ? null : { connection, number: Number(number) };
}
