import { type Loose, objectOf } from '../../schema/chat-completion.ts';

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
 * The delta of a chunk that is one more piece of text, of reasoning or of a call's arguments, and says nothing else, as
 * nearly all chunks are; null for every other. It saves looking for what two dozen vendors may put beside it: a field
 * that is null says nothing, and any other that is not known here sends the chunk the general way, which gives the same
 * events.
 */
export function fastDeltaOf(chunk: Loose, choiceIndex: unknown, serviceTier: string | null): FastDelta | null {
  let choices: unknown = null;
  for (const field in chunk) {
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
  const choice = objectOf(choices[0]);
  return choice === null ? null : deltaOfChoice(choice, choiceIndex);
}

function deltaOfChoice(choice: Loose, choiceIndex: unknown): FastDelta | null {
  if (choice['index'] !== choiceIndex) return null;
  for (const field in choice) if (field !== 'index' && field !== 'delta' && choice[field] !== null) return null;
  const delta = objectOf(choice['delta']);
  if (delta === null) return null;
  let plain: FastDelta | null = null;
  for (const name in delta) {
    const value = delta[name];
    // Many servers write the other fields too, as null or `''`.
    if (value === null || value === '' || name === 'role') continue;
    if (plain !== null) return null;
    plain = deltaOfField(name, value);
    if (plain === null) return null;
  }
  return plain;
}

/** Made once: there is one for each chunk. */
const fields = {
  content: { name: 'content' },
  reasoning_content: { name: 'reasoning_content' },
  reasoning: { name: 'reasoning' },
} as const;

function deltaOfField(name: string, value: unknown): FastDelta | null {
  switch (name) {
    case 'content':
    case 'reasoning_content':
    case 'reasoning':
      return typeof value === 'string' ? { field: fields[name], text: value } : null;
    case 'tool_calls':
      return Array.isArray(value) && value.length === 1 ? argumentsOf(objectOf(value[0])) : null;
    default:
      return null;
  }
}

/** Of an entry that has an index and arguments alone; servers that write all fields leave id and name empty. */
function argumentsOf(entry: Loose | null): FastDelta | null {
  if (entry === null) return null;
  const { index } = entry;
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) return null;
  for (const field in entry) {
    if (field === 'index' || field === 'function' || field === 'type') continue;
    if (entry[field] !== null && entry[field] !== '') return null;
  }
  const body = objectOf(entry['function']);
  if (body === null) return null;
  for (const field in body) if (field !== 'arguments' && body[field] !== null && body[field] !== '') return null;
  const text = body['arguments'];
  return typeof text === 'string' && text !== '' ? { field: { name: 'arguments', index }, text } : null;
}
