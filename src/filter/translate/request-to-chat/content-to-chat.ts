import type { ChatContentPart } from '../../wire/schema/chat-request.ts';
import type { InputContent, InputText } from '../shared/parsed.ts';

/** The parts a Chat message can hold. Refusals are written elsewhere, and left out here. */
export function chatPartsOf(content: readonly InputContent[]): ChatContentPart[] {
  return content.flatMap((part): ChatContentPart[] => {
    if (part.type === 'refusal') return [];
    if (part.type !== 'text' || part.hasOwnLines === undefined) return [part];
    const { hasOwnLines: _hasOwnLines, ...written } = part;
    return [written];
  });
}

/** The text parts as one, as clients cut text anywhere; a file, and the placeholder of an image, has lines of its own. */
export function joinText(content: readonly InputContent[]): string {
  let text = '';
  let previous: InputText | null = null;
  // Looked at piece by piece: to look at the end of what was joined so far, V8 copies all of it.
  let endsLine = false;
  for (const part of content) {
    if (part.type !== 'text') continue;
    const isSeam = previous !== null && (previous.hasOwnLines === true || part.hasOwnLines === true);
    const piece: string = isSeam && !endsLine ? `\n${part.text}` : part.text;
    text += piece;
    if (piece !== '') endsLine = piece.endsWith('\n');
    previous = part;
  }
  return text;
}

/** Whether every part is text and nothing else. */
export function isPlainText(content: readonly InputContent[]): boolean {
  return content.every((part) => part.type === 'text' && Object.keys(part).every((key) => textKeys.has(key)));
}

/** A text part with others, of hints or of the server's own, cannot be joined. */
const textKeys: ReadonlySet<string> = new Set<keyof InputText>(['type', 'text', 'hasOwnLines']);
