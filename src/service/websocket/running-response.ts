import { Buffer } from 'node:buffer';
import { estimatedOutput } from '../../filter/index.ts';
import { GrowingBytes, ownBytes } from '../../formats/bytes/growing-bytes.ts';
import type { EventFields, ItemFields, RunningResource, StreamEvent } from './stream-event.ts';

/** What is kept of a response while it streams, so that a client can interrupt it. */
export class RunningResponse {
  /** The first event, which has all fields of the Response. */
  #begun: { readonly id: string; readonly event: Buffer } | null = null;
  /** The JSON of the events that carry items, with a comma after each. */
  readonly #items = new GrowingBytes();
  #events = 0;
  #deltas = 0;
  #characters = 0;

  get id(): string | undefined {
    return this.#begun?.id;
  }

  /** Takes the next event that the client is sent, and its JSON. Returns how many bytes are kept of it. */
  push(event: StreamEvent, data: string): number {
    this.#events += 1;
    // A string may be a slice of the whole piece that it came in, so bytes are kept.
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
   * Writes the events that end the response, with its finished items as output. `inputTokens` are estimated, because the upstream is
   * cut before it counts them.
   */
  interrupt(inputTokens: number) {
    // `readStreamEvent` has checked what is kept.
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
    const response_id = this.id;
    const accepted = { type: 'response.interrupt.accepted', sequence_number: this.#events, response_id };
    const interrupted = unfinished.map(({ output_index, item: { id: item_id } }, index) => {
      const sequence_number = this.#events + 1 + index;
      return { type: 'response.output_item.interrupted', sequence_number, response_id, item_id, output_index };
    });
    const sequence_number = this.#events + 1 + interrupted.length;
    return {
      events: [accepted, ...interrupted],
      last: { type: 'response.incomplete', sequence_number, response: { ...response, ...incomplete } },
    };
  }
}
