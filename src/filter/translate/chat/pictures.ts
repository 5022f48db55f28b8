import type { LooseContentPart, LooseImageUrl, LooseMessage } from '../../wire/schema/chat-completion.ts';
import { objectOf, objectsOf, textOf } from './loose.ts';

/** A picture that a model made. */
export interface Picture {
  /** Base64. */
  readonly data: string;
  readonly format: 'png' | 'jpeg' | 'webp' | 'gif';
}

const none: readonly string[] = [];

/** The addresses of the pictures in a message or a delta: of parts of the content, and of `images` (OpenRouter, Gemini). */
export function pictureUrlsOf({ images, content }: LooseMessage): readonly string[] {
  if (images == null && !Array.isArray(content)) return none;
  return [...objectsOf<LooseContentPart>(content).filter(isPicture), ...objectsOf<LooseContentPart>(images)]
    .map(({ image_url: given }) => textOf(given) || textOf(objectOf<LooseImageUrl>(given)?.url))
    .filter((url) => url !== '');
}

function isPicture({ type }: LooseContentPart): boolean {
  return type === 'image_url' || type === 'output_image';
}

/** The picture in a `data:` URL; null if it is none, or only the address of one. */
export function pictureIn(url: string): Picture | null {
  const start = /^data:image\/(png|jpe?g|webp|gif);base64,/i.exec(url.slice(0, maxPrefix));
  if (start === null) return null;
  const format = (start[1] ?? '').toLowerCase();
  return { data: url.slice(start[0].length), format: format === 'jpg' ? 'jpeg' : (format as Picture['format']) };
}

const maxPrefix = 64;
