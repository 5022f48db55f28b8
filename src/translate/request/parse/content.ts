import type { ApiError } from '../../../schema/api-error.ts';
import {
  audioPart,
  imagePart,
  isJsonObject,
  refusalPart,
  textPart,
  videoPart,
} from '../../../schema/create-response.ts';
import type { TranslationSettings } from '../../settings.ts';
import { invalidType, invalidValue, missingParameter, paramAt, quote, unsupportedParameter } from '../errors.ts';
import type { InputContent, InputImage } from '../parsed.ts';
import { parseFile } from './file.ts';
import { checkBytes } from './limits.ts';
import { readShape } from './shape.ts';

/** The role of a message: decides which parts are allowed in it. */
type Speaker = 'user' | 'system' | 'assistant' | 'tool';

/** `content` or `output` as parts: a string is one text part. Throws `ApiError` for the first mistake and for a part that is not allowed there. */
export function parseContent(
  content: string | readonly unknown[],
  speaker: Speaker,
  param: string,
  settings: TranslationSettings,
): InputContent[] {
  if (typeof content === 'string') return [{ type: 'text', text: withinTextLimit(content, param, settings) }];
  return content.map((part, index) => parsePart(part, speaker, paramAt(param, index), settings));
}

/** The text; throws `ApiError` when it has more than `limits.maxTextBytes` bytes of UTF-8. */
export function withinTextLimit(text: string, param: string, settings: TranslationSettings): string {
  checkBytes(text, settings.limits.maxTextBytes, param, 'text');
  return text;
}

function parsePart(part: unknown, speaker: Speaker, at: string, settings: TranslationSettings): InputContent {
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
      return parseImage(part, at, settings);
    case 'input_file':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return parseFile(part, at, settings);
    case 'input_audio':
      if (speaker !== 'user') throw misplaced(type, speaker, at);
      return parseAudio(part, at, settings);
    case 'input_video':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return parseVideo(part, at, settings);
    default:
      throw invalidValue(
        `${at}.type`,
        `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: 'input_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'output_text', 'refusal'.`,
      );
  }
}

function parseImage(part: unknown, at: string, settings: TranslationSettings): InputImage {
  const { image_url: url, file_id, detail, prompt_cache_breakpoint } = readShape(imagePart, part, at);
  if (url == null || url === '') {
    if (file_id == null) throw missingParameter(`${at}.image_url`);
    throw unsupportedParameter(
      `${at}.file_id`,
      `Uploaded files are not held here. Send the image itself in 'image_url', as a URL or as data:image/…;base64,….`,
    );
  }
  checkBytes(url, settings.limits.maxImageUrlBytes, `${at}.image_url`, 'image URL');
  return {
    type: 'image',
    url,
    detail: detail == null || detail === 'auto' ? null : detail, // `auto` is what a missing detail means
    ...breakpoint(prompt_cache_breakpoint, settings),
  };
}

function parseAudio(part: unknown, at: string, { profile }: TranslationSettings): InputContent {
  const read = readShape(audioPart, part, at);
  const { data, format } = read.input_audio ?? read;
  if (data == null) throw missingParameter(`${at}.input_audio`);
  if (format == null) throw missingParameter(`${at}.format`);
  if (!profile.audio) throw notSupported(at, 'audio', profile.name);
  return { type: 'audio', data, format };
}

function parseVideo(part: unknown, at: string, { profile }: TranslationSettings): InputContent {
  const { video_url: url } = readShape(videoPart, part, at);
  if (!profile.video) throw notSupported(at, 'video', profile.name);
  return { type: 'video', url };
}

function notSupported(at: string, what: string, profile: string): ApiError {
  return unsupportedParameter(at, `The upstream (profile '${profile}') takes no ${what} in messages.`);
}

function misplaced(type: string, speaker: Speaker, at: string): ApiError {
  const where = speaker === 'tool' ? 'a tool output' : `a message of role '${speaker}'`;
  return invalidValue(`${at}.type`, `Invalid value: ${quote(type)} for '${at}.type'. It may not stand in ${where}.`);
}

/** A cache breakpoint only helps the server that knows it, and is left out everywhere else. */
function breakpoint(value: unknown, { profile }: TranslationSettings): { prompt_cache_breakpoint?: unknown } {
  return value == null || !profile.promptCacheOptions ? {} : { prompt_cache_breakpoint: value };
}
