import { jsonTextOf } from '../../../../formats/json/loose.ts';
import type { ResponseResource, Usage } from '../../../wire/schema/response-resource.ts';
import type { ExtensionEvent } from '../../../wire/schema/stream-events.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';
import { noUsage } from './usage.ts';

/** Maximum names of one answer that are counted or kept, since an upstream could make up any number of them. */
export const maxNames = 32;
export const maxNameLength = 100;

/** The places in a Response where an upstream's own fields may stand, each with the names that these fields may not have. */
const ownFields = {
  /** All fields of a Response, and one that OpenAI's SDKs add. */
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
  usage: noUsage,
  input_tokens_details: noUsage.input_tokens_details,
  output_tokens_details: noUsage.output_tokens_details,
};
export type ExtensionPlace = keyof typeof ownFields;

const maxFieldLength = 64 * 1024;

/**
 * The fields that an upstream adds of its own to an answer: those with a provider's name, and with `passExtensions` all others
 * too. The last value of each field counts.
 */
export class Extensions {
  readonly #held: HeldBytes;
  readonly passesAll: boolean;
  /** The fields by place and name, as JSON: its length bounds what is kept, and a value too deep to be written has none. */
  readonly #fields = new Map<ExtensionPlace, Map<string, string>>();

  constructor(held: HeldBytes, passesAll: boolean) {
    this.#held = held;
    this.passesAll = passesAll;
  }

  keep(name: string, value: unknown, place: ExtensionPlace = 'response'): boolean {
    return (this.passesAll || isExtensionName(name)) && this.keepOurs(name, value, place);
  }

  /** Keeps a field, with a provider's name or not. Returns false where it is too long, or its name is taken. */
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
    return Object.fromEntries(Array.from(this.#fields.get(place) ?? [], ([name, json]) => [name, JSON.parse(json)]));
  }

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

/** The length of a content part's JSON; null for a part that is too long to be passed on. */
export function measureExtensionPart(part: object): number | null {
  const { length } = jsonTextOf(part);
  return length === 0 || length > maxFieldLength ? null : length;
}

/** Builds the client's event for one of the upstream's own; null if a stream cannot have it. */
export function buildExtensionEvent(name: string, value: object | null): ExtensionEvent | null {
  if (value === null || name.length > maxNameLength || !isExtensionName(name)) return null;
  const { type: _type, sequence_number: _number, ...fields } = value as { type?: unknown; sequence_number?: unknown };
  const json = jsonTextOf(fields);
  return json === '' ? null : { type: name as ExtensionEvent['type'], fields: json.slice(1, -1) };
}
