/** The proxy violated the protocol as this service knows it. Ends the gRPC call with a status; clients never see its text. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
