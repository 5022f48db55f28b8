import { type Loose, objectOf } from '../../schema/chat-completion.ts';

/**
 * The text of a chunk that is one more piece of text and says nothing else, as nearly all chunks are; null for every
 * other. It saves looking for what two dozen vendors may put beside the text: a field that is null says nothing, and any
 * other that is not known here sends the chunk the general way, which gives the same events.
 */
export function plainTextOf(chunk: Loose, choiceIndex: unknown, serviceTier: string | null): string | null {
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
  return choice === null ? null : textOfChoice(choice, choiceIndex);
}

function textOfChoice(choice: Loose, choiceIndex: unknown): string | null {
  if (choice['index'] !== choiceIndex) return null;
  for (const field in choice) if (field !== 'index' && field !== 'delta' && choice[field] !== null) return null;
  const delta = objectOf(choice['delta']);
  if (delta === null) return null;
  for (const field in delta) if (field !== 'content' && field !== 'role' && delta[field] !== null) return null;
  const content = delta['content'];
  return typeof content === 'string' && content !== '' ? content : null;
}
