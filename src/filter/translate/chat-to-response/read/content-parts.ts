import { arrayOf, jsonTextOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseContentPart, LooseImageUrl, LooseMessage } from '../../../wire/schema/chat-completion.ts';

/** The texts in the `content` of a message or a delta; `''` where there is none. */
export interface ContentTexts {
  readonly text: string;
  readonly thinking: string;
  readonly refusal: string;
}

const nothing: ContentTexts = { text: '', thinking: '', refusal: '' };

/**
 * Reads `content`: a string, an array of parts, null, or, rarely, an object, which is passed on as its JSON. Parts that are neither
 * text, thinking nor refusal are left out: a `reference`, for example, is of no use without its source.
 */
export function readContentTexts(content: unknown): ContentTexts {
  if (typeof content === 'string') return content === '' ? nothing : { text: content, thinking: '', refusal: '' };
  if (Array.isArray(content)) return readParts(content);
  return objectOf(content) === null ? nothing : { text: jsonTextOf(content), thinking: '', refusal: '' };
}

/** Splits an array of parts into stretches of thinking and the text after it (Mistral's interleaved thinking). Other content gives none. */
export function splitStretches(content: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(content) || content.length < 2) return [];
  const stretches: unknown[][] = [[]];
  let hasText = false;
  for (const part of content) {
    const { text, thinking } = readParts([part]);
    if (thinking !== '' && hasText) {
      stretches.push([]);
      hasText = false;
    }
    stretches.at(-1)?.push(part);
    hasText ||= text !== '';
  }
  return stretches;
}

export function findUnreadParts(content: unknown): readonly LooseContentPart[] {
  if (!Array.isArray(content)) return [];
  return objectsOf<LooseContentPart>(content).filter(({ type }) => typeof type === 'string' && !readTypes.has(type));
}

const pictureTypes = ['image_url', 'output_image', 'image'] as const;

const readTypes: ReadonlySet<string> = new Set([
  'text',
  'output_text',
  'thinking',
  'reasoning',
  'refusal',
  ...pictureTypes,
]);

function readParts(parts: readonly unknown[]): ContentTexts {
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
        thinking += readThinking(part.thinking ?? part.text ?? part.summary);
        break;
      case 'refusal':
        refusal += textOf(part.refusal);
        break;
    }
  }
  return { text, thinking, refusal };
}

/** Reads a part's thinking: Mistral nests text parts in `thinking`, Databricks in `summary`; others give a string. */
function readThinking(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  let text = '';
  for (const part of arrayOf(thinking))
    text += typeof part === 'string' ? part : textOf(objectOf<LooseContentPart>(part)?.text);
  return text;
}

/** Reads the addresses of pictures in the content of a message or a delta, and in its `images` (OpenRouter, Gemini). */
export function readPictureUrls({ images, content }: LooseMessage): readonly string[] {
  if (images == null && !Array.isArray(content)) return [];
  const shown = objectsOf<LooseContentPart>(content).filter(({ type = 'image' }) =>
    (pictureTypes as readonly unknown[]).includes(type),
  );
  return [...shown, ...objectsOf<LooseContentPart>(images)]
    .map(({ image_url: given }) => textOf(given) || textOf(objectOf<LooseImageUrl>(given)?.url))
    .filter((url) => url !== '');
}

/** Reads the base64 of the picture in a `data:` URL, and its format if the API has a word for it; null for any other URL. */
export function readPicture(url: string) {
  const start = /^data:image\/([\w.+-]+)(?:;[\w.+-]+=[\w.+-]*)*;base64,/i.exec(url.slice(0, maxPrefix));
  if (start === null) return null;
  const format = formats.find((known) => known === start[1]?.toLowerCase().replace(/^jpg$/, 'jpeg')) ?? null;
  return { data: url.slice(start[0].length), format };
}

const formats = ['png', 'jpeg', 'webp', 'gif'] as const;
const maxPrefix = 128;
