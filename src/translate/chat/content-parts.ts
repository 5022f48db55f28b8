import { arrayOf, jsonTextOf, objectOf, textOf } from '../../schema/chat-completion.ts';

/** What the `content` of a message or a delta says, by kind. Each is `''` when absent. */
export interface ContentTexts {
  readonly text: string;
  readonly thinking: string;
  readonly refusal: string;
}

const nothing: ContentTexts = { text: '', thinking: '', refusal: '' };

/**
 * Reads `content`: a string, an array of parts (Mistral's `thinking`, text under several names), null, or, rarely, an
 * object, which is passed on as its JSON. Parts that are neither text, thinking nor refusal have no place and are left
 * out: images are never asked for, and a `reference` without its source says nothing.
 */
export function contentOf(content: unknown): ContentTexts {
  if (typeof content === 'string') return content === '' ? nothing : { text: content, thinking: '', refusal: '' };
  if (Array.isArray(content)) return partsOf(content);
  const object = objectOf(content);
  return object === null ? nothing : { text: jsonTextOf(object), thinking: '', refusal: '' };
}

function partsOf(parts: readonly unknown[]): ContentTexts {
  let text = '';
  let thinking = '';
  let refusal = '';
  for (const value of parts) {
    if (typeof value === 'string') text += value;
    const part = objectOf(value);
    if (part === null) continue;
    switch (part['type']) {
      case 'text':
      case 'output_text':
      case undefined:
        text += textOf(part['text']);
        break;
      case 'thinking':
      case 'reasoning':
        thinking += thinkingOf(part['thinking'] ?? part['text']);
        break;
      case 'refusal':
        refusal += textOf(part['refusal']);
        break;
    }
  }
  return { text, thinking, refusal };
}

/** Mistral nests text parts in `thinking`; others give a string. */
function thinkingOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  let text = '';
  for (const part of arrayOf(thinking)) text += typeof part === 'string' ? part : textOf(objectOf(part)?.['text']);
  return text;
}
