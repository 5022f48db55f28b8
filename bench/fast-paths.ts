/**
 * When a fast path goes: each file with one, and the recorded figures (`bench/results.json`) of the general way and of the
 * fast one. A test compares them, so that the run that shows that a fast path is not worth its lines says so.
 */
export type FastPath =
  | {
      /** Rows of `micro`: what the general way costs, and the fast one. */
      readonly general: string;
      readonly fast: string;
      /** The general way must cost so many times as much, or the fast path goes. */
      readonly least: number;
    }
  /** Its gain shows in a tree without it alone: `npm run bench -- --compare main`, on a branch that deletes it. */
  | { readonly byComparison: string };

const byComparison = (what: string): FastPath => ({ byComparison: what });
const rawJson: FastPath = {
  general: 'JSON.parse of a chunk: the floor',
  fast: 'translate the JSON of a token of text',
  least: 1.5,
};

/** By file of `src/`. */
export const fastPaths: Readonly<Record<string, FastPath>> = {
  'extproc/deserialize-request.ts': {
    general: 'read a body of one token, protobufjs',
    fast: 'read a body of one token, by hand',
    least: 1.5,
  },
  'extproc/serialize-reply.ts': {
    general: 'write a body of one token, protobufjs',
    fast: 'write a body of one token, by hand',
    least: 1.5,
  },
  'exchange/response/event-stream-reader.ts': rawJson,
  'translate/chat/delta-template.ts': rawJson,
  'translate/stream.ts': rawJson,
  'translate/chat/fast-delta.ts': byComparison('a token of a stream'),
  'translate/response/output-writer.ts': byComparison('a token of a stream'),
  'exchange/request/request-leg.ts': byComparison('a small request'),
  'exchange/request/route.ts': byComparison('a small request'),
  'exchange/response/delivery.ts': byComparison('a token of a stream'),
  'exchange/response/response-leg.ts': byComparison('a token of a stream'),
  'schema/fast-check.ts': byComparison('a request'),
  'server/grpc-call.ts': byComparison('a call'),
  'server/process.ts': byComparison('a token of a stream'),
  'server/ticker.ts': byComparison('a small JSON answer'),
  'sse/decode.ts': byComparison('a token of a stream'),
  'sse/encode.ts': byComparison('a token of a stream'),
  'telemetry/log.ts': byComparison('a small JSON answer'),
};
