import type { IncomingHttpHeaders } from 'node:http2';

/** The metadata with which a gRPC call was opened, sent as HTTP/2 headers. Names are in lower case. */
export type CallMetadata = Readonly<IncomingHttpHeaders>;
