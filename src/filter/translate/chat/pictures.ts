import type { LooseContentPart, LooseImageUrl, LooseMessage } from '../../wire/schema/chat-completion.ts';
import { objectOf, objectsOf, textOf } from './loose.ts';

export interface Picture {
  /** Base64. */
  readonly data: string;
  /** Null for one that the API has no word for. */
  readonly format: 'png' | 'jpeg' | 'webp' | 'gif' | null;
}

/** The addresses of the pictures in a message or a delta: of parts of the content, and of `images` (OpenRouter, Gemini). */
export function pictureUrlsOf({ images, content }: LooseMessage): readonly string[] {
  if (images == null && !Array.isArray(content)) return [];
  // Some gateways leave the type out, as they do of texts.
  const shown = objectsOf<LooseContentPart>(content).filter(({ type = 'image' }) => pictureTypes.includes(type));
  return [...shown, ...objectsOf<LooseContentPart>(images)]
    .map(({ image_url: given }) => textOf(given) || textOf(objectOf<LooseImageUrl>(given)?.url))
    .filter((url) => url !== '');
}

const pictureTypes: readonly unknown[] = ['image_url', 'output_image', 'image'];

/** The picture in a `data:` URL; null if it is only the address of one. */
export function pictureIn(url: string): Picture | null {
  const start = /^data:image\/([\w.+-]+)(?:;[\w.+-]+=[\w.+-]*)*;base64,/i.exec(url.slice(0, maxPrefix));
  if (start === null) return null;
  return { data: url.slice(start[0].length), format: formats.get((start[1] ?? '').toLowerCase()) ?? null };
}

const formats: ReadonlyMap<string, Picture['format']> = new Map([
  ['png', 'png'],
  ['jpeg', 'jpeg'],
  ['jpg', 'jpeg'],
  ['webp', 'webp'],
  ['gif', 'gif'],
]);

const maxPrefix = 128;
