import { Exchange, runSteps } from '../../../src/filter/exchange/exchange.ts';
import type { ExchangeEvent, ExchangeReply } from '../../../src/filter/exchange/types.ts';
import type { TranslationSettings } from '../../../src/filter/translate/shared/settings.ts';
import { exchangeOptions, headersOf, repliesOf } from '../exchange-options.ts';

/** Inputs of one kind, in any size. */
export interface Family {
  /** Where its bytes come in: a door of docs/architecture.md. */
  readonly door: string;
  readonly name: string;
  /** The smaller of the two sizes whose work is compared. */
  readonly size?: number;
  /** What is measured is how it is refused. */
  readonly isRefused?: true;
  /** An input of that size, and what is done with it. Making it is not measured. An answer that is not `isWhole` goes on. */
  make(size: number, isWhole?: boolean): Run;
}

export interface Run {
  /** Bytes that came in. */
  readonly bytes: number;
  run(): Outcome | Promise<Outcome>;
}

export interface Outcome {
  /** Bytes that were sent for it. */
  readonly sent: number;
  /** Bytes that the ledger was told of at the end; null where nothing is kept. */
  readonly counted: number | null;
  /** What is kept until the exchange, or the connection, ends. */
  readonly kept?: unknown;
  /** The code of an error in place of a result; null where there is none. */
  readonly refused: string | null;
}

const MiB = 1024 * 1024;

/** The largest bodies that a service admits by default, and more: what is measured is refused by none of them. */
const bodyLimits = {
  maxRequestBytes: 64 * MiB,
  maxResponseBytes: 64 * MiB,
  maxErrorBytes: MiB,
  maxSseEventBytes: 8 * MiB,
};

interface Answered {
  readonly status?: string | undefined;
  readonly isWhole: boolean;
  readonly coding?: string;
}

/** An exchange that counts what it sends and holds. */
export class MeteredExchange {
  readonly exchange: Exchange;
  sent = 0;
  held = 0;
  refused: string | null = null;

  constructor(settings: TranslationSettings, tap?: ConstructorParameters<typeof Exchange>[0]['tap']) {
    const hold = (bytes: number) => {
      this.held = bytes;
      return null;
    };
    this.exchange = new Exchange(exchangeOptions({ settings, bodyLimits, hold, tap }));
  }

  handle(event: ExchangeEvent): void {
    for (const reply of repliesOf(this.exchange, event)) this.#count(reply);
  }

  request(body: Buffer, headers: Readonly<Record<string, string>> = {}): this {
    const head = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json', ...headers };
    this.handle({ type: 'request_headers', headers: headersOf(head), endOfStream: body.length === 0 });
    if (body.length > 0) this.handle({ type: 'request_body', body, endOfStream: true });
    return this;
  }

  /** In steps where it is compressed, as the service reads it. */
  answer(contentType: string, pieces: readonly Buffer[], { status = '200', isWhole, coding = '' }: Answered): this {
    const encoded = coding === '' ? {} : { 'content-encoding': coding };
    const headers = headersOf({ ':status': status, 'content-type': contentType, ...encoded });
    this.handle({ type: 'response_headers', headers, endOfStream: false });
    for (const [index, body] of pieces.entries()) {
      const event = { type: 'response_body', body, endOfStream: isWhole && index === pieces.length - 1 } as const;
      if (coding === '') this.handle(event);
      else for (const reply of runSteps(this.exchange.handleInSteps(event))) this.#count(reply);
    }
    return this;
  }

  outcome(): Outcome {
    return { sent: this.sent, counted: this.held, kept: this.exchange, refused: this.refused };
  }

  #count(reply: ExchangeReply): void {
    if ('body' in reply) this.sent += reply.body?.length ?? 0;
    if (reply.type !== 'immediate_response' || reply.status === 200) return;
    const { error } = JSON.parse(Buffer.from(reply.body).toString()) as { error: { code: string } };
    this.refused = error.code;
  }
}

/** So many things, each made of its index. */
export function times<Thing>(count: number, of: (index: number) => Thing): Thing[] {
  return Array.from({ length: Math.floor(count) }, (_, index) => of(index));
}

/** An object of so many keys. */
export function keyed(count: number, prefix: string, of: (index: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(times(count, (index) => [`${prefix}${index}`, of(index)]));
}

/** So many levels around it, up to those that `JSON.stringify` writes. */
export function nested(levels: number, bottom: object): object {
  return times(Math.min(levels, 3000), () => 'nested').reduce<object>((inner, key) => ({ [key]: inner }), bottom);
}

/** The bytes in pieces of that size. */
export function inPieces(bytes: Buffer, size: number): Buffer[] {
  return times(Math.ceil(bytes.length / size), (index) =>
    Buffer.from(bytes.subarray(index * size, (index + 1) * size)),
  );
}
