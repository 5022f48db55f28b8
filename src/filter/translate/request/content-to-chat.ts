import type { Profile } from '../../upstream/profile.ts';
import type { ChatContentPart } from '../../wire/schema/chat-request.ts';
import type { InputContent, InputFile, InputRefusal, InputText } from './parsed.ts';
import { carry } from './trace.ts';

/** The parts a Chat message can hold, in the profile's shape. Refusals are written elsewhere, and left out here. */
export function chatPartsOf(content: readonly InputContent[], profile: Profile): ChatContentPart[] {
  const parts: ChatContentPart[] = [];
  for (const part of content) if (part.type !== 'refusal') parts.push(chatPartOf(part, profile));
  return parts;
}

function chatPartOf(part: Exclude<InputContent, InputRefusal>, profile: Profile): ChatContentPart {
  const written = partInShapeOf(part, profile);
  carry(written, part);
  return written;
}

function partInShapeOf(part: Exclude<InputContent, InputRefusal>, profile: Profile): ChatContentPart {
  switch (part.type) {
    case 'text': {
      if (part.hasOwnLines === undefined) return part;
      const { hasOwnLines: _hasOwnLines, ...written } = part;
      return written;
    }
    case 'image': {
      const { url, detail, prompt_cache_breakpoint, cache_control } = part;
      return {
        type: 'image_url',
        image_url: { url, ...(detail === null ? {} : { detail }) },
        ...(prompt_cache_breakpoint === undefined ? {} : { prompt_cache_breakpoint }),
        ...(cache_control === undefined ? {} : { cache_control }),
      };
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    case 'video':
      return { type: 'video_url', video_url: { url: part.url } };
    case 'file':
      return filePartOf(part, profile);
  }
}

function filePartOf(file: InputFile, profile: Profile): ChatContentPart {
  if ('fileId' in file) return { type: 'file', file: { file_id: file.fileId } };
  if (profile.file === 'mistral') return { type: 'document_url', document_url: file.url };
  return { type: 'file', file: { filename: file.filename ?? 'file.pdf', file_data: file.url } };
}

/**
 * The text parts as one text, whatever the role: joined without a separator, since a client may cut its text anywhere. Only
 * a text file, and the placeholder of an image, has lines of its own.
 */
export function joinText(content: readonly InputContent[]): string {
  let text = '';
  let previous: InputText | null = null;
  for (const part of content) {
    if (!isTextPart(part)) continue;
    const isSeam = previous !== null && (previous.hasOwnLines === true || part.hasOwnLines === true);
    text += isSeam && !text.endsWith('\n') ? `\n${part.text}` : part.text;
    previous = part;
  }
  return text;
}

export function isTextPart(part: InputContent): part is InputText {
  return part.type === 'text';
}

/** Whether every part is text and nothing else. */
export function isPlainText(content: readonly InputContent[]): boolean {
  return content.every((part) => isTextPart(part) && !('prompt_cache_breakpoint' in part || 'cache_control' in part));
}

export function isRefusal(part: InputContent): part is InputRefusal {
  return part.type === 'refusal';
}
