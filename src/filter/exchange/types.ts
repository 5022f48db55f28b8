import type { ApiError } from '../wire/schema/api-error.ts';

/**
 * All that the code right of `extproc/` knows of Envoy. Tags are the proto's oneof names, so that a log line, a test script
 * and `external_processor.proto` share one vocabulary.
 */

/** Lower-case names (pseudo headers included) to values; a repeated header is joined with `, ` (RFC 9110 §5.3). */
export type HeaderMap = ReadonlyMap<string, string>;

/** Applied by Envoy as: remove, then overwrite-or-add. */
export interface HeaderMutation {
  readonly set?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
}

/**
 * The modes differ in when the headers are committed and in the form of a body reply (`extproc/serialize-reply.ts`).
 *
 * - `FULL_DUPLEX_STREAMED`: no reply until the leg decides; then any number of replies, including unsolicited ones.
 * - `BUFFERED`: replied to at once; the reply to the one message with the whole body may still change them.
 * - `BUFFERED_PARTIAL`: replied to at once and no longer changeable, but Envoy keeps them until the body's reply, so an
 *   immediate response still replaces them.
 * - `STREAMED`: replied to at once and forwarded; every message has exactly one reply. `NONE`: there is no body.
 */
export type BodyMode = 'NONE' | 'BUFFERED' | 'STREAMED' | 'BUFFERED_PARTIAL' | 'FULL_DUPLEX_STREAMED';

/** The body modes in force, from `protocol_config` of the first message, else from the configuration. */
export interface BodyModes {
  readonly request: BodyMode;
  readonly response: BodyMode;
}

/**
 * Tells how many bytes an exchange holds from now on; `body` of them are of a body that is yet to be parsed. Returns the error
 * for its client if there is no room for what will be made of that body; the exchange then holds nothing.
 */
export type Hold = (bytes: number, body?: number) => ApiError | null;

/** Attributes that Envoy sends with a response's headers, by CEL names: the texts among the filter's `response_attributes`. */
export type Attributes = ReadonlyMap<string, string>;

export type ExchangeEvent =
  | { readonly type: 'request_headers'; readonly headers: HeaderMap; readonly endOfStream: boolean }
  | { readonly type: 'request_body'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly type: 'request_trailers' }
  | {
      readonly type: 'response_headers';
      readonly headers: HeaderMap;
      readonly endOfStream: boolean;
      /** Absent where the filter is not configured to send any. */
      readonly attributes?: Attributes;
    }
  | { readonly type: 'response_body'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly type: 'response_trailers' };

export type RequestEvent = Extract<ExchangeEvent, { type: `request_${string}` }>;
export type ResponseEvent = Extract<ExchangeEvent, { type: `response_${string}` }>;

/** Whether the event belongs to the request, not to the response. */
export function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  return event.type !== 'response_body' && event.type !== 'response_headers' && event.type !== 'response_trailers';
}

/** Facts of an answer for Envoy's access log, rate limits and headers: fields as in `envoy/README.md`. */
export type UsageMetadata = Readonly<Record<string, string | number>>;

/** Replies in order; where their bodies are long, each is made when it is asked for, so that backpressure holds. */
export type Replies = ExchangeReply[] | Generator<ExchangeReply, void>;

export type ExchangeReply = { readonly metadata?: UsageMetadata } & (
  | { readonly type: 'request_headers' | 'response_headers'; readonly headers?: HeaderMutation }
  | { readonly type: 'request_trailers' | 'response_trailers'; readonly headers?: HeaderMutation }
  | {
      readonly type: 'request_body' | 'response_body';
      /** Replaces the bytes; absent lets Envoy's own bytes pass (not possible in full duplex, where the leg repeats them). */
      readonly body?: Uint8Array;
      /** Applied only where Envoy has not sent the headers yet: `BUFFERED`. */
      readonly headers?: HeaderMutation;
      readonly endOfStream: boolean;
    }
  | {
      readonly type: 'immediate_response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
      /** Becomes `%RESPONSE_CODE_DETAILS%` in Envoy's access log: no spaces. */
      readonly details: string;
    }
);
