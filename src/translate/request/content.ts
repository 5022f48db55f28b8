import type { ApiError } from '../../schema/api-error.ts';
import type { ChatContentPart } from '../../schema/chat-request.ts';
import { audioPart, imagePart, isJsonObject, refusalPart, textPart, videoPart } from '../../schema/create-response.ts';
import type { TranslationSettings } from '../settings.ts';
import { translateFile } from './files.ts';
import { checkBytes } from './limits.ts';
import {
  invalidType,
  invalidValue,
  missingParameter,
  paramAt,
  quote,
  readShape,
  unsupportedParameter,
} from './shape.ts';
import type { Speaker } from './speaker.ts';

/** A refusal in an assistant's history; becomes a field of its own or text. */
export interface RefusalContent {
  readonly type: 'refusal';
  readonly refusal: string;
}

export type ContentPart = ChatContentPart | RefusalContent;

/** `content` or `output` as Chat parts: a string is one text part. Throws for a part that may not stand there. */
export function readContent(
  content: string | readonly unknown[],
  speaker: Speaker,
  param: string,
  settings: TranslationSettings,
): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: withinTextLimit(content, param, settings) }];
  return content.map((part, index) => readPart(part, speaker, paramAt(param, index), settings));
}

/** Refuses text over `limits.maxTextBytes`, counted as UTF-8. */
export function withinTextLimit(text: string, param: string, settings: TranslationSettings): string {
  checkBytes(text, settings.limits.maxTextBytes, param, 'text');
  return text;
}

function readPart(part: unknown, speaker: Speaker, at: string, settings: TranslationSettings): ContentPart {
  if (!isJsonObject(part)) throw invalidType(at, 'an object', part);
  const type = part['type'];
  if (type == null) throw missingParameter(`${at}.type`);
  if (typeof type !== 'string') throw invalidType(`${at}.type`, 'a string', type);
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text': {
      const { text, prompt_cache_breakpoint } = readShape(textPart, part, at);
      return {
        type: 'text',
        text: withinTextLimit(text, `${at}.text`, settings),
        ...breakpoint(prompt_cache_breakpoint, settings),
      };
    }
    case 'refusal':
      if (speaker !== 'assistant') throw misplaced(type, speaker, at);
      return {
        type: 'refusal',
        refusal: withinTextLimit(readShape(refusalPart, part, at).refusal, `${at}.refusal`, settings),
      };
    case 'input_image':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return translateImage(part, at, settings);
    case 'input_file':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return translateFile(part, at, settings);
    case 'input_audio':
      if (speaker !== 'user') throw misplaced(type, speaker, at);
      return translateAudio(part, at, settings);
    case 'input_video':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return translateVideo(part, at, settings);
    default:
      throw invalidValue(
        `${at}.type`,
        `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: 'input_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'output_text', 'refusal'.`,
      );
  }
}

function translateImage(part: unknown, at: string, settings: TranslationSettings): ChatContentPart {
  const { image_url: url, file_id, detail, prompt_cache_breakpoint } = readShape(imagePart, part, at);
  if (url == null || url === '') {
    if (file_id == null) throw missingParameter(`${at}.image_url`);
    throw unsupportedParameter(
      `${at}.file_id`,
      `Uploaded files are not held here. Send the image itself in 'image_url', as a URL or as data:image/…;base64,….`,
    );
  }
  checkBytes(url, settings.limits.maxImageUrlBytes, `${at}.image_url`, 'image URL');
  // Chat has no `original`; `auto` is what a missing detail means.
  const chatDetail = detail === 'original' ? 'high' : detail;
  return {
    type: 'image_url',
    image_url: { url, ...(chatDetail == null || chatDetail === 'auto' ? {} : { detail: chatDetail }) },
    ...breakpoint(prompt_cache_breakpoint, settings),
  };
}

function translateAudio(part: unknown, at: string, { profile }: TranslationSettings): ChatContentPart {
  const read = readShape(audioPart, part, at);
  const { data, format } = read.input_audio ?? read;
  if (data == null) throw missingParameter(`${at}.input_audio`);
  if (format == null) throw missingParameter(`${at}.format`);
  if (!profile.audio) throw notTaken(at, 'audio', profile.name);
  return { type: 'input_audio', input_audio: { data, format } };
}

function translateVideo(part: unknown, at: string, { profile }: TranslationSettings): ChatContentPart {
  const { video_url: url } = readShape(videoPart, part, at);
  if (!profile.video) throw notTaken(at, 'video', profile.name);
  return { type: 'video_url', video_url: { url } };
}

function notTaken(at: string, what: string, profile: string): ApiError {
  return unsupportedParameter(at, `The upstream (profile '${profile}') takes no ${what} in messages.`);
}

function misplaced(type: string, speaker: Speaker, at: string): ApiError {
  const where = speaker === 'tool' ? 'a tool output' : `a message of role '${speaker}'`;
  return invalidValue(`${at}.type`, `Invalid value: ${quote(type)} for '${at}.type'. It may not stand in ${where}.`);
}

function breakpoint(value: unknown, { profile }: TranslationSettings): { prompt_cache_breakpoint?: unknown } {
  return value == null || !profile.promptCacheOptions ? {} : { prompt_cache_breakpoint: value };
}

/** The text parts as one text. */
export function textOf(content: readonly ContentPart[], separator: string): string {
  let text: string | null = null;
  for (const part of content) {
    if (isText(part)) text = text === null ? part.text : text + separator + part.text;
  }
  return text ?? '';
}

export function isText(part: ContentPart): part is { readonly type: 'text'; readonly text: string } {
  return part.type === 'text';
}

/** Whether every part is text and nothing else. */
export function isPlainText(content: readonly ContentPart[]): boolean {
  return content.every((part) => isText(part) && !('prompt_cache_breakpoint' in part));
}

export function isRefusal(part: ContentPart): part is { readonly type: 'refusal'; readonly refusal: string } {
  return part.type === 'refusal';
}

/** Parts that a Chat message may hold as they are. */
export function chatParts(content: readonly ContentPart[]): ChatContentPart[] {
  return content.filter((part): part is ChatContentPart => !isRefusal(part));
}
