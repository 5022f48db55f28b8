import type { ApiError } from '../wire/schema/api-error.ts';

// All that exchanges know of Envoy. Tags are the names of oneof fields in `external_processor.proto`.

/** Values by lower-case names, pseudo headers among them; a repeated header is joined with `, ` (RFC 9110 §5.3). */
export type HeaderMap = ReadonlyMap<string, string>;

/** Changes to headers. Envoy removes first, then overwrites or adds. */
export interface HeaderMutation {
  readonly set?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
}

/**
 * The mode in which Envoy sends a body decides when headers are committed, and the form of a body's reply (`extproc/serialize-reply.ts`).
 *
 * - `FULL_DUPLEX_STREAMED`: headers get no reply until the leg decides; then any number of replies may follow, also unasked.
 * - `BUFFERED`: headers get a reply at once; the reply to the one message with the whole body may still change them.
 * - `BUFFERED_PARTIAL`: headers get a reply at once, which is final. Envoy keeps them until the body's reply, so an immediate response still
 *   replaces them.
 * - `STREAMED`: headers get a reply at once and are forwarded; every message has exactly one reply. `NONE`: there is no body.
 */
export type BodyMode = 'NONE' | 'BUFFERED' | 'STREAMED' | 'BUFFERED_PARTIAL' | 'FULL_DUPLEX_STREAMED';

/** The body modes in force: those in `protocol_config` of the first message, else the configured ones. */
export interface BodyModes {
  readonly request: BodyMode;
  readonly response: BodyMode;
}

/** Reports the bytes that an exchange holds, `body` of them yet to be parsed. Returns an error, and counts nothing, if memory lacks room for that. */
export type Hold = (bytes: number, body?: number) => ApiError | null;

/** The texts among the filter's `response_attributes`, by CEL names. Envoy sends them with a response's headers. */
export type Attributes = ReadonlyMap<string, string>;

export type ExchangeEvent =
  | { readonly type: 'request_headers'; readonly headers: HeaderMap; readonly endOfStream: boolean }
  | { readonly type: 'request_body'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly type: 'request_trailers' }
  | {
      readonly type: 'response_headers';
      readonly headers: HeaderMap;
      readonly endOfStream: boolean;
      /** Absent where the filter is configured to send none. */
      readonly attributes?: Attributes;
    }
  | { readonly type: 'response_body'; readonly body: Uint8Array; readonly endOfStream: boolean }
  | { readonly type: 'response_trailers' };

export type RequestEvent = Extract<ExchangeEvent, { type: `request_${string}` }>;
export type ResponseEvent = Extract<ExchangeEvent, { type: `response_${string}` }>;

export function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  return event.type !== 'response_body' && event.type !== 'response_headers' && event.type !== 'response_trailers';
}

/** Facts of an answer for Envoy's access log, rate limits and headers; `envoy/README.md` lists the fields. */
export type UsageMetadata = Readonly<Record<string, string | number>>;

/** Replies in order. A generator makes replies with long bodies as they are sent, so that backpressure holds. */
export type Replies = ExchangeReply[] | Generator<ExchangeReply, void>;

export type ExchangeReply = { readonly metadata?: UsageMetadata } & (
  | { readonly type: 'request_headers' | 'response_headers'; readonly headers?: HeaderMutation }
  | { readonly type: 'request_trailers' | 'response_trailers'; readonly headers?: HeaderMutation }
  | {
      readonly type: 'request_body' | 'response_body';
      /** Replaces the bytes; without it, Envoy's own bytes pass. In full duplex they cannot, and the leg repeats them. */
      readonly body?: Uint8Array;
      /** Changes headers that Envoy has yet to send, as in `BUFFERED`. */
      readonly headers?: HeaderMutation;
      readonly endOfStream: boolean;
    }
  | {
      readonly type: 'immediate_response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
      /** The `%RESPONSE_CODE_DETAILS%` of Envoy's access log, without spaces. */
      readonly details: string;
    }
);

/** Work in steps, between which the event loop is free (docs/decisions/0006-cpu-of-a-request.md). */
export type Steps<Result> = Generator<void, Result, void>;

/** The way to handle an event: `queued_once` waits while large bodies keep the event loop busy; `in_steps` frees it after each step. */
export type Schedule = 'at_once' | 'queued_once' | 'in_steps';
