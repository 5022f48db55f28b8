import type { IncomingHttpHeaders } from 'node:http2';

/** What a caller opened its call with: gRPC's metadata, which travels as HTTP/2 headers. Names are in lower case. */
export type CallMetadata = Readonly<IncomingHttpHeaders>;
