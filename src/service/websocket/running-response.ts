import { Buffer } from 'node:buffer';
import { estimatedOutput } from '../../filter/index.ts';
import { GrowingBytes, ownBytes } from '../../formats/bytes/growing-bytes.ts';
import type { EventFields, ItemFields, RunningResource, StreamEvent } from './stream-event.ts';

/** State that is kept of a response while it streams, so that a client can interrupt it. */
export class RunningResponse {
  /** The event that began it, which has all its fields, and its id. */
  #begun: { readonly id: string; readonly event: Buffer } | null = null;
  /** Their JSON, each with a comma behind it. */
  readonly #items = new GrowingBytes();
  #events = 0;
  #deltas = 0;
  #characters = 0;

  get id(): string | undefined {
    return this.#begun?.id;
  }

  /** Takes the next event of its stream that the client is sent, and its JSON. Returns how many bytes of it are kept. */
  push(event: StreamEvent, data: string): number {
    this.#events += 1;
    // A string may be a slice of all that came with it.
    if (event.kind === 'response' && this.#begun === null) {
      this.#begun = { id: event.fields.response.id, event: ownBytes(Buffer.from(data)) };
      return this.#begun.event.length;
    }
    if (event.kind === 'item') {
      const before = this.#items.length;
      this.#items.append(Buffer.from(`${data},`));
      return this.#items.length - before;
    }
    const { type, delta } = event.fields;
    if (!type.endsWith('.delta')) return 0;
    this.#deltas += 1;
    if (typeof delta === 'string') this.#characters += delta.length;
    return 0;
  }

  /**
   * The events that end it as it is: only finished items are its output. `inputTokens` are those of its request; its upstream was cut
   * before it counted any.
   */
  interrupt(inputTokens: number): Interruption {
    // Both were read before they were kept.
    const { response } = JSON.parse(String(this.#begun?.event)) as { readonly response: RunningResource };
    const items = this.#items.whole().subarray(0, -1);
    const events = JSON.parse(`[${items}]`) as (EventFields & ItemFields)[];
    const finished = events.filter(({ type }) => type === 'response.output_item.done');
    const isFinished = new Set(finished.map(({ output_index }) => output_index));
    const unfinished = events.filter(({ output_index }) => !isFinished.has(output_index));
    const output_tokens = estimatedOutput(this.#deltas, this.#characters);
    const usage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + output_tokens,
    };
    const output = finished.map(({ item }) => item);
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'interrupted' }, output, usage };
    const first = [
      { type: 'response.interrupt.accepted', response_id: this.id },
      ...unfinished.map(({ output_index, item }) => ({
        type: 'response.output_item.interrupted',
        response_id: this.id,
        item_id: item.id,
        output_index,
      })),
    ].map(({ type, ...fields }, index) => ({ type, sequence_number: this.#events + index, ...fields }));
    return {
      events: first,
      last: {
        type: 'response.incomplete',
        sequence_number: this.#events + first.length,
        response: { ...response, ...incomplete },
      },
    };
  }
}

/** Events of an interrupted response that a client is sent, and after them the one with the Response. */
export interface Interruption {
  readonly events: readonly EventFields[];
  readonly last: EventFields & { readonly response: RunningResource };
}
