import type { ChatCompletionRequest, ChatMessage } from './chat-request.ts';

/** Bytes of a token of English text and code. Elsewhere a character is a token, of three bytes. */
const unitsPerToken = 4;

/** Tokens of an image, a file or a recording. Models make from a hundred to several thousand of one; its bytes say nothing about it. */
const tokensPerMedium = 1000;

/**
 * Tokens of a request that nobody has counted: one for each four bytes of its body, whose names and brackets stand for what a chat
 * template adds. `media` are the bytes of each image, file or recording in the body, which counts as `tokensPerMedium` instead.
 */
export function estimatedTokens(bodyBytes: number, media: readonly number[]): number {
  const mediaBytes = media.reduce((sum, bytes) => sum + bytes, 0);
  return Math.ceil(Math.max(0, bodyBytes - mediaBytes) / unitsPerToken) + media.length * tokensPerMedium;
}

/** `estimatedTokens` of a Chat request whose body has so many bytes. */
export function estimatedInput({ messages }: Pick<ChatCompletionRequest, 'messages'>, bodyBytes: number): number {
  const media: number[] = [];
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly Part[]) {
      const data = findMedium(part);
      if (data !== null) media.push(data.length);
    }
  }
  return estimatedTokens(bodyBytes, media);
}

/** Tokens of an uncounted output: one for each delta or, since gateways join deltas, one for each four characters, whichever is more. */
export function estimatedOutput(deltas: number, characters: number): number {
  return Math.max(deltas, Math.ceil(characters / unitsPerToken));
}

type Part = Extract<ChatMessage['content'], readonly unknown[]>[number];

/** The text that holds a part which is not text, or refers to it; null for text. */
function findMedium(part: Part): string | null {
  switch (part.type) {
    case 'text':
    case 'thinking':
      return null;
    case 'image_url':
      return part.image_url.url;
    case 'input_audio':
      return part.input_audio.data;
    case 'video_url':
      return part.video_url.url;
    case 'document_url':
      return part.document_url;
    case 'file':
      return 'file_data' in part.file ? part.file.file_data : part.file.file_id;
  }
  // A part of the server's own counts as the text of the body that it is.
  return null;
}
