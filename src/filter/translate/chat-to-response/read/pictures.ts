import { objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseContentPart, LooseImageUrl, LooseMessage } from '../../../wire/schema/chat-completion.ts';

/** The addresses of the pictures in a message or a delta: of parts of the content, and of `images` (OpenRouter, Gemini). */
export function readPictureUrls({ images, content }: LooseMessage): readonly string[] {
  if (images == null && !Array.isArray(content)) return [];
  // Some gateways leave the type out, as they do of texts.
  const shown = objectsOf<LooseContentPart>(content).filter(({ type = 'image' }) =>
    (pictureTypes as readonly unknown[]).includes(type),
  );
  return [...shown, ...objectsOf<LooseContentPart>(images)]
    .map(({ image_url: given }) => textOf(given) || textOf(objectOf<LooseImageUrl>(given)?.url))
    .filter((url) => url !== '');
}

export const pictureTypes = ['image_url', 'output_image', 'image'] as const;

/** The base64 of the picture in a `data:` URL, and its format if the API has a word for it; null if it is only the address of one. */
export function readPicture(url: string) {
  const start = /^data:image\/([\w.+-]+)(?:;[\w.+-]+=[\w.+-]*)*;base64,/i.exec(url.slice(0, maxPrefix));
  if (start === null) return null;
  const format = formats.find((known) => known === start[1]?.toLowerCase().replace(/^jpg$/, 'jpeg')) ?? null;
  return { data: url.slice(start[0].length), format };
}

const formats = ['png', 'jpeg', 'webp', 'gif'] as const;
const maxPrefix = 128;
