import { createUpstreamBodyReader } from '../../src/filter/exchange/response/choose-reader.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { keepAliveComment } from '../../src/filter/wire/sse/encode-events.ts';
import { wholeOf } from './whole-of.ts';

const MiB = 1024 * 1024;

/** What a client that asked for a stream gets. */
export interface StreamRun {
  /** The bytes for each piece that produced any. */
  readonly writes: readonly Buffer[];
  /** All of them. */
  readonly bytes: Buffer;
  /** The error that is sent as an HTTP status, if the upstream's first event was one; then there are no bytes. */
  readonly error: ApiError | null;
  /** The error that the stream ends with, told in it or as a status. */
  readonly failure: ApiError | null;
}

export interface StreamRunOptions {
  /** The headers have been sent already, so that an error cannot become a status. */
  readonly committed?: boolean;
  readonly maxEventBytes?: number;
  readonly maxResponseBytes?: number;
}

/** Feeds an upstream's event stream, in the pieces it arrives in, to the service's own reader. */
export function runStream(
  pieces: Iterable<Uint8Array>,
  context: ResponseContext,
  { committed = false, maxEventBytes = 8 * MiB, maxResponseBytes = 64 * MiB }: StreamRunOptions = {},
): StreamRun {
  const reader = createUpstreamBodyReader({
    status: 200,
    contentType: 'text/event-stream',
    retryAfter: null,
    context: { ...context, stream: true },
    committed,
    mayReplaceStatus: !committed,
    limits: { maxResponseBytes, maxErrorBytes: 64 * 1024, maxSseEventBytes: maxEventBytes },
  });
  const writes: Buffer[] = [];
  for (const piece of pieces)
    writes.push(wholeOf(reader.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))));
  writes.push(wholeOf(reader.end()));
  const sent = writes.filter((write) => write.length > 0);
  const { decision, translator } = reader.state;
  const error = decision instanceof ApiError ? decision : null;
  return { writes: sent, bytes: Buffer.concat(sent), error, failure: translator?.summary().error ?? null };
}

/** The stream without its keep-alive comments: their number depends on how the upstream's bytes are cut. */
export function withoutKeepalives(stream: Buffer): string {
  return stream.toString('utf8').replaceAll(keepAliveComment.toString(), '');
}
