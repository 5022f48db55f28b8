import { Buffer } from 'node:buffer';

/** An event of a whole item. */
interface ItemEvent {
  readonly type: 'response.output_item.added' | 'response.output_item.done';
  readonly output_index: number;
  readonly item: { readonly id: string };
}

/**
 * Usage of a response whose upstream was cut before it counted: four bytes of the request are a token, as in `estimate.ts`, which
 * this folder may not import, and so is a delta.
 */
const bytesPerToken = 4;

/** What is kept of a response while it streams, so that a client can interrupt it. */
export class RunningResponse {
  readonly #requestBytes: number;
  /** The event that began it, which has all its fields, and its id. */
  #begun: { readonly id: string; readonly event: Buffer } | null = null;
  readonly #items: Buffer[] = [];
  #events = 0;
  #deltas = 0;

  constructor(requestBytes: number) {
    this.#requestBytes = requestBytes;
  }

  get id(): string | null {
    return this.#begun?.id ?? null;
  }

  /** It has begun with this event. Returns how many bytes of it are kept. */
  begin(id: string, event: string): number {
    if (this.#begun !== null) return 0;
    this.#begun = { id, event: Buffer.from(event) };
    return this.#begun.event.length;
  }

  /** Takes the next event of its stream. Returns how many bytes of it are kept. */
  push(name: string | null, event: string): number {
    this.#events += 1;
    if (name?.endsWith('.delta')) this.#deltas += 1;
    if (name !== 'response.output_item.added' && name !== 'response.output_item.done') return 0;
    // A string may be a slice of all that came with it.
    const kept = Buffer.from(event);
    this.#items.push(kept);
    return kept.length;
  }

  /** The events that end it as it is, of which the last has the Response: only finished items are its output. */
  interrupt(): string[] {
    const { response } = JSON.parse(String(this.#begun?.event)) as { readonly response: object };
    const events = this.#items.map((event) => JSON.parse(String(event)) as ItemEvent);
    const finished = events.filter(({ type }) => type === 'response.output_item.done');
    const isFinished = new Set(finished.map(({ output_index }) => output_index));
    const unfinished = events.filter(({ output_index }) => !isFinished.has(output_index));
    const input_tokens = Math.ceil(this.#requestBytes / bytesPerToken);
    const usage = {
      input_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: this.#deltas,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + this.#deltas,
    };
    const output = finished.map(({ item }) => item);
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'interrupted' }, output, usage };
    return [
      { type: 'response.interrupt.accepted', response_id: this.id },
      ...unfinished.map(({ output_index, item }) => ({
        type: 'response.output_item.interrupted',
        response_id: this.id,
        item_id: item.id,
        output_index,
      })),
      { type: 'response.incomplete', response: { ...response, ...incomplete } },
    ].map(({ type, ...fields }, index) => JSON.stringify({ type, sequence_number: this.#events + index, ...fields }));
  }
}
