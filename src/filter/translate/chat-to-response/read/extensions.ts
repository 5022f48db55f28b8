import { jsonTextOf } from '../../../../formats/json/loose.ts';
import type { ResponseResource, Usage } from '../../../wire/schema/response-resource.ts';
import type { ExtensionEvent } from '../../../wire/schema/stream-events.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';

/** Names of one answer that are counted or kept; an upstream could make up any number of them. */
export const maxNames = 32;
export const maxNameLength = 100;

/** Where an upstream's own fields may stand in a Response, each with the fields that none of them takes the place of. */
const ownFields = {
  /** All of the type's, and one that OpenAI's SDKs add. */
  response: {
    id: null,
    object: null,
    created_at: null,
    completed_at: null,
    status: null,
    error: null,
    incomplete_details: null,
    model: null,
    previous_response_id: null,
    instructions: null,
    output: null,
    tools: null,
    tool_choice: null,
    parallel_tool_calls: null,
    truncation: null,
    text: null,
    temperature: null,
    top_p: null,
    presence_penalty: null,
    frequency_penalty: null,
    top_logprobs: null,
    reasoning: null,
    usage: null,
    max_output_tokens: null,
    max_tool_calls: null,
    store: null,
    background: null,
    service_tier: null,
    metadata: null,
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    prompt_cache_retention: null,
    prompt_cache_options: null,
    input_transformations: null,
    output_text: null,
  } satisfies Record<keyof ResponseResource | 'output_text', null>,
  usage: {
    input_tokens: null,
    output_tokens: null,
    total_tokens: null,
    input_tokens_details: null,
    output_tokens_details: null,
  } satisfies Record<keyof Usage, null>,
  input_tokens_details: { cached_tokens: null, cache_write_tokens: null } satisfies Record<
    keyof Usage['input_tokens_details'],
    null
  >,
  output_tokens_details: { reasoning_tokens: null } satisfies Record<keyof Usage['output_tokens_details'], null>,
};
export type ExtensionPlace = keyof typeof ownFields;

const noFields = {};
const maxFieldLength = 64 * 1024;

/**
 * Fields that an upstream adds of its own to an answer: fields with a provider's name, and with `passExtensions` all others
 * too. The last value of each counts.
 */
export class Extensions {
  readonly #held: HeldBytes;
  /** Whether fields without a provider's name are passed as well, and events. */
  readonly passesAll: boolean;
  /** By place and name, as JSON: it says at once how long a value is, and whether it is nested deeper than JSON can be written. */
  readonly #fields = new Map<ExtensionPlace, Map<string, string>>();

  constructor(held: HeldBytes, passesAll: boolean) {
    this.#held = held;
    this.passesAll = passesAll;
  }

  /** Keeps a field for that place. False where the client does not get it: it may not, it is one of ours, or too much. */
  keep(name: string, value: unknown, place: ExtensionPlace = 'response'): boolean {
    return (this.passesAll || isExtensionName(name)) && this.keepOurs(name, value, place);
  }

  /** Keeps a field whatever its name. False where it is too much, or has the name of one that is written elsewhere. */
  keepOurs(name: string, value: unknown, place: ExtensionPlace = 'response'): boolean {
    if (Object.hasOwn(ownFields[place], name) || name.length > maxNameLength) return false;
    const fields = this.#fields.get(place) ?? new Map<string, string>();
    const json = jsonTextOf(value);
    this.#remove(fields, name);
    if (json === '' || json.length > maxFieldLength || fields.size >= maxNames) return false;
    this.#fields.set(place, fields.set(name, json));
    this.#held.add('field', name.length + json.length);
    return true;
  }

  fields(place: ExtensionPlace = 'response'): Readonly<Record<string, unknown>> {
    const fields = this.#fields.get(place);
    if (fields === undefined) return noFields;
    return Object.fromEntries(Array.from(fields, ([name, json]) => [name, JSON.parse(json)]));
  }

  /** The counts with the upstream's own beside them. */
  usageWith(usage: Usage): Usage {
    if (this.#fields.size === 0) return usage;
    return {
      ...usage,
      input_tokens_details: { ...usage.input_tokens_details, ...this.fields('input_tokens_details') },
      output_tokens_details: { ...usage.output_tokens_details, ...this.fields('output_tokens_details') },
      ...this.fields('usage'),
    };
  }

  drop(): void {
    for (const fields of this.#fields.values()) for (const name of fields.keys()) this.#remove(fields, name);
  }

  #remove(fields: Map<string, string>, name: string): void {
    const json = fields.get(name);
    if (json === undefined) return;
    fields.delete(name);
    this.#held.remove('field', name.length + json.length);
  }
}

/** The length of a content part's JSON; null for one that is too much to be passed on. */
export function measureExtensionPart(part: object): number | null {
  const { length } = jsonTextOf(part);
  return length === 0 || length > maxFieldLength ? null : length;
}

/** The client's event for one of the upstream's own. Null if it is none that a stream can have. */
export function buildExtensionEvent(name: string, value: object | null): ExtensionEvent | null {
  if (value === null || name.length > maxNameLength || !isExtensionName(name)) return null;
  const { type: _type, sequence_number: _number, ...fields } = value as { type?: unknown; sequence_number?: unknown };
  const json = jsonTextOf(fields);
  return json === '' ? null : { type: name as ExtensionEvent['type'], fields: json.slice(1, -1) };
}
