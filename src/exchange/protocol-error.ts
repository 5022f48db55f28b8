/** The proxy and this service disagree about the protocol. Ends the gRPC call with a status; clients never see its text. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
