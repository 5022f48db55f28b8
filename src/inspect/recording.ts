/** The four bodies of an exchange: the request and the answer, each as the client and as the upstream has it. */
export type BodyName = 'client_request' | 'chat_request' | 'chat_response' | 'client_response';

export const bodyNames: readonly BodyName[] = ['client_request', 'chat_request', 'chat_response', 'client_response'];

/** What comes before a body, redacted. A request has a method and a path, a response a status. */
export interface Head {
  readonly method: string | null;
  readonly path: string | null;
  readonly status: number | null;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** What is known of an exchange as a whole; grows while it runs. */
export interface ExchangeFacts {
  /** The program that sent the request, as its `user-agent` says. */
  readonly client: string | null;
  readonly requestId: string | null;
  readonly profile: string;
  readonly model: string | null;
  readonly stream: boolean | null;
  readonly dropped: readonly string[];
  /** Null while it runs. */
  readonly outcome: string | null;
  readonly status: number | null;
  readonly upstreamStatus: number | null;
  readonly errorCode: string | null;
  /** What was thrown, with its stack and its own causes. */
  readonly cause: string | null;
  readonly finishReason: string | null;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
  /** Events sent to the client. */
  readonly events: number;
  /** Milliseconds until it ended, and until its first delta; null while unknown. */
  readonly durationMs: number | null;
  readonly firstTokenMs: number | null;
}

/** Takes what one exchange does, as it does it. Times are milliseconds since it began. No method throws or waits. */
export interface Recording {
  head(body: BodyName, head: Head): void;
  /** The upstream was not called after all: forgets what it would have been sent. */
  withdraw(body: BodyName): void;
  /** A piece of a body. The bytes are copied. */
  piece(body: BodyName, atMs: number, bytes: Uint8Array): void;
  /** Bytes of a body that are not kept, because it is too long. */
  omit(body: BodyName, bytes: number): void;
  facts(facts: ExchangeFacts): void;
}

/** Where exchanges are recorded: the store of this process, or the supervisor's. */
export interface RecordingSink {
  /** `startedAt` is in Unix milliseconds. */
  open(startedAt: number): Recording;
}

/** Bytes kept of one exchange, all bodies together. */
export const MAX_EXCHANGE_BYTES = 8 * 1024 * 1024;
