import { jsonTextOf } from '../../../../formats/json/loose.ts';
import type { ResponseResource } from '../../../wire/schema/response-resource.ts';
import type { ExtensionEvent } from '../../../wire/schema/stream-events.ts';
import type { Kept } from '../../shared/kept.ts';

/** Names of one answer that are counted or kept; an upstream could make up any number of them. */
export const maxNames = 32;
export const maxNameLength = 100;

/** The Response's own fields, which no upstream's takes the place of: all of the type's, and one that OpenAI's SDKs add. */
const ownFields = {
  ...{ id: null, object: null, created_at: null, completed_at: null, status: null, error: null },
  ...{ incomplete_details: null, model: null, previous_response_id: null, instructions: null, output: null },
  ...{ tools: null, tool_choice: null, parallel_tool_calls: null, truncation: null, text: null, temperature: null },
  ...{ top_p: null, presence_penalty: null, frequency_penalty: null, top_logprobs: null, reasoning: null },
  ...{ usage: null, max_output_tokens: null, max_tool_calls: null, store: null, background: null },
  ...{ service_tier: null, metadata: null, safety_identifier: null, prompt_cache_key: null, user: null },
  ...{ prompt_cache_retention: null, prompt_cache_options: null, input_transformations: null, output_text: null },
} satisfies Record<keyof ResponseResource | 'output_text', null>;

/** What a field takes beside its name and its JSON. */
const fieldBytes = 100;
const maxFieldLength = 64 * 1024;

/** What an upstream adds of its own to an answer, for a client that may have it (`passExtensions`). */
export class Extensions {
  readonly #kept: Kept;
  /** By name, as JSON: it says at once how long a value is, and whether it is nested deeper than JSON can be written. */
  readonly #fields = new Map<string, string>();

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** Keeps a field for the Response; the last value counts. False where the Response cannot have it: it is ours, or too much. */
  keep(name: string, value: unknown): boolean {
    if (Object.hasOwn(ownFields, name) || name.length > maxNameLength) return false;
    const json = jsonTextOf(value);
    this.#remove(name);
    if (json === '' || json.length > maxFieldLength || this.#fields.size >= maxNames) return false;
    this.#fields.set(name, json);
    this.#kept.bytes += bytesOf(name, json);
    return true;
  }

  fields(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#fields].map(([name, json]) => [name, JSON.parse(json)]));
  }

  drop(): void {
    for (const name of this.#fields.keys()) this.#remove(name);
  }

  #remove(name: string): void {
    const json = this.#fields.get(name);
    if (json === undefined) return;
    this.#fields.delete(name);
    this.#kept.bytes -= bytesOf(name, json);
  }
}

const bytesOf = (name: string, json: string) => fieldBytes + name.length + json.length;

/** A provider's name for an event, in characters that need no escaping anywhere. */
const eventName = /^[\w.-]+:[\w.:-]+$/;

/** The client's event for one of the upstream's own. Null if it is none that a stream can have. */
export function extensionEventOf(name: string, value: object | null): ExtensionEvent | null {
  if (value === null || name.length > maxNameLength || !eventName.test(name)) return null;
  const { type: _type, sequence_number: _number, ...fields } = value as { type?: unknown; sequence_number?: unknown };
  const json = jsonTextOf(fields);
  return json === '' ? null : { type: name as ExtensionEvent['type'], fields: json.slice(1, -1) };
}
