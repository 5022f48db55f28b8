import type { ApiError } from '../../../schema/api-error.ts';
import {
  audioPart,
  encryptedPart,
  imagePart,
  isJsonObject,
  refusalPart,
  textPart,
  videoPart,
} from '../../../schema/create-response.ts';
import type { TranslationSettings } from '../../settings.ts';
import { type Dropped, knownKeys } from '../dropped.ts';
import { invalidType, invalidValue, missingParameter, paramAt, quote, unsupportedParameter } from '../errors.ts';
import type { CacheHints, InputContent, InputImage } from '../parsed.ts';
import { mark } from '../trace.ts';
import { parseFile } from './file.ts';
import { textCarriedBy } from './items/unknown.ts';
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
  dropped: Dropped,
): InputContent[] {
  if (typeof content === 'string') return [{ type: 'text', text: withinTextLimit(content, param, settings) }];
  const parts: InputContent[] = [];
  for (let index = 0; index < content.length; index++) {
    const parsed = parsePart(content[index], speaker, paramAt(param, index), settings, dropped);
    if (parsed === null) continue;
    if (settings.trace !== undefined) mark(parsed, paramAt(param, index));
    parts.push(parsed);
  }
  return parts;
}

/** The text; throws `ApiError` when it has more than `limits.maxTextBytes` bytes of UTF-8. */
export function withinTextLimit(text: string, param: string, settings: TranslationSettings): string {
  checkBytes(text, settings.limits.maxTextBytes, param, 'text');
  return text;
}

/** Null for a part that is left out, which `dropped` names. */
function parsePart(
  part: unknown,
  speaker: Speaker,
  at: string,
  settings: TranslationSettings,
  dropped: Dropped,
): InputContent | null {
  if (!isJsonObject(part)) throw invalidType(at, 'an object', part);
  const type = part['type'];
  if (type == null) throw missingParameter(`${at}.type`);
  if (typeof type !== 'string') throw invalidType(`${at}.type`, 'a string', type);
  const known = partKeys.get(type);
  if (known !== undefined)
    dropped.pushUnknownKeys(
      part,
      settings.profile.cacheControl ? known.withCacheControl : known.plain,
      'input[].content[]',
    );
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text': {
      const { text } = readShape(textPart, part, at);
      withinTextLimit(text, `${at}.text`, settings);
      const hints = cacheHints(part, settings);
      return hints === null ? { type: 'text', text } : { type: 'text', text, ...hints };
    }
    case 'refusal':
      if (speaker !== 'assistant') throw misplaced(type, speaker, at);
      return {
        type: 'refusal',
        refusal: withinTextLimit(readShape(refusalPart, part, at).refusal, `${at}.refusal`, settings),
      };
    case 'input_image':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return parseImage(part, at, settings, dropped);
    case 'input_file':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return parseFile(part, at, settings);
    case 'input_audio':
      if (speaker !== 'user') throw misplaced(type, speaker, at);
      return parseAudio(part, at, settings, dropped);
    case 'input_video':
      if (speaker === 'system' || speaker === 'assistant') throw misplaced(type, speaker, at);
      return parseVideo(part, at, settings);
    case 'encrypted_content': {
      const { encrypted_content: text } = readShape(encryptedPart, part, at);
      if (!ciphertext.test(text)) return { type: 'text', text: withinTextLimit(text, at, settings) };
      dropped.push(`${at}.encrypted_content`);
      return null;
    }
    default: {
      if (settings.unknownItems !== 'reject') {
        dropped.pushUnknownType({ kind: 'part', type }, at);
        const text = settings.unknownItems === 'text' ? textCarriedBy(part) : '';
        return text === '' ? null : { type: 'text', text: withinTextLimit(text, at, settings) };
      }
      throw invalidValue(
        `${at}.type`,
        `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: 'input_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'output_text', 'refusal'.`,
      );
    }
  }
}

function parseImage(
  part: Record<string, unknown>,
  at: string,
  settings: TranslationSettings,
  dropped: Dropped,
): InputImage {
  const { image_url: url, file_id, detail } = readShape(imagePart, part, at);
  if (url == null || url === '') {
    if (file_id == null) throw missingParameter(`${at}.image_url`);
    throw unsupportedParameter(
      `${at}.file_id`,
      `Uploaded files are not held here. Send the image itself in 'image_url', as a URL or as data:image/…;base64,….`,
    );
  }
  checkBytes(url, settings.limits.maxImageUrlBytes, `${at}.image_url`, 'image URL');
  if (!settings.profile.image) throw notSupported(at, 'images', settings.profile.name);
  const isReduced = detail === 'original' && !settings.profile.originalDetail;
  if (isReduced) dropped.push('input[].content[].detail.original');
  return {
    type: 'image',
    url,
    detail: detail == null || detail === 'auto' ? null : isReduced ? 'high' : detail, // `auto` is what a missing detail means
    ...cacheHints(part, settings),
  };
}

function parseAudio(
  part: unknown,
  at: string,
  { profile }: TranslationSettings,
  dropped: Dropped,
): InputContent | null {
  const read = readShape(audioPart, part, at);
  const { data, format } = read.input_audio ?? audioOf(read.audio_url) ?? read;
  if (data == null && read.audio_url != null) {
    // Chat takes no audio by URL, and nothing is fetched from here.
    dropped.push(`${at}.input_audio`);
    return null;
  }
  if (data == null) throw missingParameter(`${at}.input_audio`);
  if (format == null) throw missingParameter(`${at}.format`);
  if (!profile.audio) throw notSupported(at, 'audio', profile.name);
  return { type: 'audio', data, format };
}

/** Codex sends a data URL: `data:audio/wav;base64,…`. */
function audioOf(url: string | null | undefined): { readonly data: string; readonly format: string } | null {
  const [, format, data] = /^data:audio\/([\w.+-]+);base64,(.*)$/s.exec(url ?? '') ?? [];
  return format === undefined || data === undefined ? null : { data, format: format === 'mpeg' ? 'mp3' : format };
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

/** A hint for the prompt cache only helps the server that knows it. */
function cacheHints(part: Record<string, unknown>, { profile }: TranslationSettings): CacheHints | null {
  const { prompt_cache_breakpoint, cache_control } = part;
  if (prompt_cache_breakpoint == null && cache_control == null) return null;
  return {
    ...(prompt_cache_breakpoint != null && profile.promptCacheOptions ? { prompt_cache_breakpoint } : {}),
    ...(cache_control != null && profile.cacheControl ? { cache_control } : {}),
  };
}

/** Keys of each type that are read. A breakpoint is for one kind of server, and goes unnamed elsewhere. */
function keys(...names: readonly string[]) {
  const plain = knownKeys(...names, 'prompt_cache_breakpoint');
  return { plain, withCacheControl: knownKeys(...plain, 'cache_control') };
}

/** Citations and log probabilities of earlier answers are for their readers. */
const textKeys = keys('text', 'annotations', 'logprobs', 'parsed');
const partKeys = new Map([
  ['input_text', textKeys],
  ['output_text', textKeys],
  ['text', textKeys],
  ['summary_text', textKeys],
  ['reasoning_text', textKeys],
  ['refusal', keys('refusal')],
  ['encrypted_content', keys('encrypted_content')],
  ['input_image', keys('image_url', 'file_id', 'detail')],
  ['input_file', keys('file_data', 'file_url', 'file_id', 'filename')],
  ['input_audio', keys('input_audio', 'audio_url', 'data', 'format')],
  ['input_video', keys('video_url')],
]);

/** A Fernet token, as OpenAI encrypts what agents tell each other; behind a Chat server the model's own text stands there. */
const ciphertext = /^gAAAA[\w-]{20,}={0,2}$/;
