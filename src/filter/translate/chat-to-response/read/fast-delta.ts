import { objectOf } from '../../../../formats/json/loose.ts';
import type {
  LooseChoice,
  LooseChunk,
  LooseFunctionCall,
  LooseMessage,
  LooseToolCall,
} from '../../../wire/schema/chat-completion.ts';

/** The field of a delta that has its text; of arguments, also the `index` of their call. */
export type DeltaField =
  | { readonly name: 'content' | 'reasoning_content' | 'reasoning' }
  | { readonly name: 'arguments'; readonly index: number };

export interface FastDelta {
  readonly field: DeltaField;
  /** Never empty. */
  readonly text: string;
}

/**
 * Fast path. The delta of a chunk that holds one more piece of text, of reasoning or of a call's arguments and nothing
 * else, as nearly all chunks do; null for every other. It does not look for the fields that two dozen vendors may add, which
 * saves a tenth of a token in a burst from servers whose chunks differ in more than their text (docs/decisions/0012-speed.md); `DeltaTemplate`
 * learns by it where the text is. Null fields are skipped, and any unknown one sends the chunk the general way, which gives the
 * same events.
 */
export function readFastDelta(chunk: LooseChunk, choiceIndex: unknown, serviceTier: string | null): FastDelta | null {
  let choices: unknown = null;
  for (const name in chunk) {
    // A cast for the compiler alone: a misspelt case below does not compile, and other names reach `default`.
    const field = name as keyof LooseChunk;
    const value = chunk[field];
    switch (field) {
      case 'object':
        if (value === 'error') return null; // vLLM
        break;
      case 'choices':
        choices = value;
        break;
      case 'service_tier':
        if (value !== null && value !== serviceTier) return null;
        break;
      case 'id':
      case 'created':
      case 'model':
      case 'system_fingerprint':
      case 'obfuscation':
        break;
      default:
        if (value !== null) return null;
    }
  }
  if (!Array.isArray(choices) || choices.length !== 1) return null;
  const choice = objectOf<LooseChoice>(choices[0]);
  return choice === null ? null : deltaOfChoice(choice, choiceIndex);
}

function deltaOfChoice(choice: LooseChoice, choiceIndex: unknown): FastDelta | null {
  if (choice.index !== choiceIndex || !hasOnly(choice, 'index', 'delta')) return null;
  const delta = objectOf<LooseMessage>(choice.delta);
  if (delta === null) return null;
  let found: FastDelta | null = null;
  for (const name in delta) {
    const field = name as keyof LooseMessage;
    const value = delta[field];
    // Many servers write the other fields too, as null or `''`.
    if (value === null || value === '' || field === 'role') continue;
    if (found !== null) return null;
    found = deltaOfField(field, value);
    if (found === null) return null;
  }
  return found;
}

/** Reused: each chunk would need a new one. */
const fields = {
  content: { name: 'content' },
  reasoning_content: { name: 'reasoning_content' },
  reasoning: { name: 'reasoning' },
} as const;

function deltaOfField(name: keyof LooseMessage, value: unknown): FastDelta | null {
  switch (name) {
    case 'content':
    case 'reasoning_content':
    case 'reasoning':
      return typeof value === 'string' ? { field: fields[name], text: value } : null;
    case 'tool_calls':
      return Array.isArray(value) && value.length === 1 ? argumentsOf(objectOf<LooseToolCall>(value[0])) : null;
    default:
      return null;
  }
}

/** For an entry that has an index and arguments alone; servers that write all fields leave id and name empty. */
function argumentsOf(entry: LooseToolCall | null): FastDelta | null {
  if (entry === null) return null;
  const { index } = entry;
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) return null;
  const body = objectOf<LooseFunctionCall>(entry.function);
  if (body === null || !hasOnly(entry, 'index', 'function', 'type') || !hasOnly(body, 'arguments')) return null;
  const text = body.arguments;
  return typeof text === 'string' && text !== '' ? { field: { name: 'arguments', index }, text } : null;
}

/** Is there nothing beside those fields? Many servers write all others too, as null or `''`. */
function hasOnly<Shape extends object>(object: Shape, one: keyof Shape, two = one, three = one): boolean {
  for (const name in object) {
    const value = object[name];
    if (name !== one && name !== two && name !== three && value !== null && value !== '') return false;
  }
  return true;
}
