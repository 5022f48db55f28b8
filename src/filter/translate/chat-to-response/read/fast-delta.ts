import { objectOf } from '../../../../formats/json/loose.ts';
import type {
  LooseChoice,
  LooseChunk,
  LooseFunctionCall,
  LooseMessage,
  LooseToolCall,
} from '../../../wire/schema/chat-completion.ts';

export type DeltaField =
  | { readonly name: 'content' | 'reasoning_content' | 'reasoning' }
  | { readonly name: 'arguments'; readonly index: number };

export interface FastDelta {
  readonly field: DeltaField;
  readonly text: string;
}

/**
 * Fast path. Reads a chunk that holds one more piece of text, of reasoning or of a call's arguments and nothing else, as nearly all chunks
 * do; null for any other chunk, which is read in full and gives the same events. The fields that two dozen vendors may add are not looked
 * for, which saves a tenth of the time of a token from servers whose chunks differ in more than their text (docs/decisions/0012-speed.md).
 */
export function readFastDelta(chunk: LooseChunk, choiceIndex: unknown, serviceTier: string | null): FastDelta | null {
  let choices: unknown = null;
  for (const name in chunk) {
    // The cast makes a misspelt case a compile error; unknown names reach `default`.
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
  return choice === null ? null : readChoice(choice, choiceIndex);
}

function readChoice(choice: LooseChoice, choiceIndex: unknown): FastDelta | null {
  if (choice.index !== choiceIndex || !hasOnly(choice, 'index', 'delta')) return null;
  const delta = objectOf<LooseMessage>(choice.delta);
  if (delta === null) return null;
  let found: FastDelta | null = null;
  for (const name in delta) {
    const field = name as keyof LooseMessage;
    const value = delta[field];
    // Many servers write all other fields, as null or `''`.
    if (value === null || value === '' || field === 'role') continue;
    if (found !== null) return null;
    found = readField(field, value);
    if (found === null) return null;
  }
  return found;
}

/** The objects of fields are reused, so that chunks need none of their own. */
const fields = {
  content: { name: 'content' },
  reasoning_content: { name: 'reasoning_content' },
  reasoning: { name: 'reasoning' },
} as const;

function readField(name: keyof LooseMessage, value: unknown): FastDelta | null {
  switch (name) {
    case 'content':
    case 'reasoning_content':
    case 'reasoning':
      return typeof value === 'string' ? { field: fields[name], text: value } : null;
    case 'tool_calls':
      return Array.isArray(value) && value.length === 1 ? readArguments(objectOf<LooseToolCall>(value[0])) : null;
    default:
      return null;
  }
}

/** Reads an entry that has an index and arguments alone; servers that write all fields leave id and name empty. */
function readArguments(entry: LooseToolCall | null): FastDelta | null {
  if (entry === null) return null;
  const { index } = entry;
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) return null;
  const body = objectOf<LooseFunctionCall>(entry.function);
  if (body === null || !hasOnly(entry, 'index', 'function', 'type') || !hasOnly(body, 'arguments')) return null;
  const text = body.arguments;
  return typeof text === 'string' && text !== '' ? { field: { name: 'arguments', index }, text } : null;
}

function hasOnly<Shape extends object>(object: Shape, one: keyof Shape, two = one, three = one): boolean {
  for (const name in object) {
    const value = object[name];
    if (name !== one && name !== two && name !== three && value !== null && value !== '') return false;
  }
  return true;
}
