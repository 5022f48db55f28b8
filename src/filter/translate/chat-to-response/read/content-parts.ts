import { arrayOf, jsonTextOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseContentPart } from '../../../wire/schema/chat-completion.ts';
import { pictureTypes } from './pictures.ts';

/** The `content` of a message or a delta, by kind. Each is `''` when absent. */
export interface ContentTexts {
  readonly text: string;
  readonly thinking: string;
  readonly refusal: string;
}

const nothing: ContentTexts = { text: '', thinking: '', refusal: '' };

/**
 * Reads `content`: a string, an array of parts (Mistral's `thinking`, text under several names), null, or, rarely, an
 * object, which is passed on as its JSON. Parts that are neither text, thinking nor refusal are left out: images are
 * never asked for, and a `reference` is of no use without its source.
 */
export function readContentTexts(content: unknown): ContentTexts {
  if (typeof content === 'string') return content === '' ? nothing : { text: content, thinking: '', refusal: '' };
  if (Array.isArray(content)) return partsOf(content);
  return objectOf(content) === null ? nothing : { text: jsonTextOf(content), thinking: '', refusal: '' };
}

/** The parts of an array in stretches of thinking and the text after it (Mistral's interleaved thinking); any other content has none. */
export function splitStretches(content: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(content) || content.length < 2) return [];
  const stretches: unknown[][] = [[]];
  let hasText = false;
  for (const part of content) {
    const { text, thinking } = partsOf([part]);
    if (thinking !== '' && hasText) {
      stretches.push([]);
      hasText = false;
    }
    stretches.at(-1)?.push(part);
    hasText ||= text !== '';
  }
  return stretches;
}

/** Parts of the content that nothing here reads. */
export function findUnreadParts(content: unknown): readonly LooseContentPart[] {
  if (!Array.isArray(content)) return [];
  return objectsOf<LooseContentPart>(content).filter(({ type }) => typeof type === 'string' && !readTypes.has(type));
}

/** The types that `partsOf` reads, and those of pictures. */
const readTypes: ReadonlySet<string> = new Set([
  'text',
  'output_text',
  'thinking',
  'reasoning',
  'refusal',
  ...pictureTypes,
]);

function partsOf(parts: readonly unknown[]): ContentTexts {
  let text = '';
  let thinking = '';
  let refusal = '';
  for (const value of parts) {
    if (typeof value === 'string') text += value;
    const part = objectOf<LooseContentPart>(value);
    if (part === null) continue;
    switch (part.type) {
      case 'text':
      case 'output_text':
      case undefined:
        text += textOf(part.text);
        break;
      case 'thinking':
      case 'reasoning':
        thinking += thinkingOf(part.thinking ?? part.text ?? part.summary);
        break;
      case 'refusal':
        refusal += textOf(part.refusal);
        break;
    }
  }
  return { text, thinking, refusal };
}

/** Mistral nests text parts in `thinking`, Databricks in `summary`; others give a string. */
function thinkingOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  let text = '';
  for (const part of arrayOf(thinking))
    text += typeof part === 'string' ? part : textOf(objectOf<LooseContentPart>(part)?.text);
  return text;
}
