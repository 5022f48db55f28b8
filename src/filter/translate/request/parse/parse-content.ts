import type { z } from 'zod';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import {
  audioPart,
  chatFilePart,
  chatImage,
  chatImagePart,
  chatVideo,
  chatVideoPart,
  encryptedPart,
  imagePart,
  isJsonObject,
  refusalPart,
  textPart,
  videoPart,
} from '../../../wire/schema/create-response.ts';
import type { TranslationSettings } from '../../settings.ts';
import { type Dropped, knownKeys } from '../dropped.ts';
import type { CacheHints, InputContent, InputImage, InputText } from '../parsed.ts';
import {
  invalidType,
  invalidValue,
  missingParameter,
  paramAt,
  quote,
  unsupportedParameter,
} from '../request-errors.ts';
import { mark } from '../trace.ts';
import { isRefused, textCarriedBy } from './items/unknown-items.ts';
import { omit, refuseOrOmit } from './omitted.ts';
import { parseFile } from './parse-file.ts';
import { readShape } from './read-shape.ts';
import { checkBytes } from './text-limits.ts';

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
  const known = partTypes.get(type);
  if (known === undefined) return parseUnknownPart(type, part, at, settings, dropped);
  const keys = settings.profile.cacheControl ? known.cachedKeys : known.keys;
  dropped.pushUnknownKeys(part, keys, 'input[].content[]');
  if (!known.speakers.includes(speaker)) throw misplaced(type, known.speakers, speaker, at);
  checkSize(part, known.media, at, settings);
  return known.read(part, at, settings, dropped);
}

/** What a part can hold, each with its limit, and how its error calls it. */
const media = {
  text: { limit: 'maxTextBytes', what: 'text' },
  image: { limit: 'maxImageUrlBytes', what: 'image URL' },
  file: { limit: 'maxFileBytes', what: 'file' },
  audio: { limit: 'maxFileBytes', what: 'audio' },
  video: { limit: 'maxFileBytes', what: 'video' },
} as const;

/** Refuses a part with a string above the limit of its medium, itself or in an object of it, as Chat nests its parts. */
function checkSize(part: object, medium: keyof typeof media, at: string, settings: TranslationSettings): void {
  const { limit, what } = media[medium];
  for (const [key, value] of Object.entries(part)) {
    if (key === 'type') continue;
    if (typeof value === 'string') checkBytes(value, settings.limits[limit], `${at}.${key}`, what);
    else if (isJsonObject(value)) checkSize(value, medium, `${at}.${key}`, settings);
  }
}

/** What one type of content part becomes. */
interface PartType {
  /** Keys that are read, without and with those that only a server with `cacheControl` knows. */
  readonly keys: ReadonlySet<string>;
  readonly cachedKeys: ReadonlySet<string>;
  /** The roles whose messages may contain it. */
  readonly speakers: readonly Speaker[];
  /** What is in it. */
  readonly media: keyof typeof media;
  /** Null for a part that is left out, which `dropped` names. Throws `ApiError` for the first mistake. */
  read(part: Record<string, unknown>, at: string, settings: TranslationSettings, dropped: Dropped): InputContent | null;
}

/** An OpenAI breakpoint is for one kind of server; elsewhere it is dropped unnamed. */
function partType(
  medium: PartType['media'],
  keys: readonly string[],
  speakers: readonly Speaker[],
  read: PartType['read'],
): PartType {
  const plain = knownKeys(...keys, 'prompt_cache_breakpoint');
  return { keys: plain, cachedKeys: knownKeys(...plain, 'cache_control'), speakers, media: medium, read };
}

const everyone: readonly Speaker[] = ['user', 'system', 'assistant', 'tool'];

/** Citations and log probabilities of earlier answers are for their readers. */
const text = partType('text', ['text', 'annotations', 'logprobs', 'parsed'], everyone, (part, at, settings) => {
  const { text: given } = readShape(textPart, part, at);
  const hints = cacheHints(part, settings);
  return hints === null ? { type: 'text', text: given } : { type: 'text', text: given, ...hints };
});
const file = partType(
  'file',
  ['file_data', 'file_url', 'file_id', 'filename'],
  ['user', 'tool'],
  (part, at, settings, dropped) => parseFile(part, at, settings, dropped),
);

/** Every type of content part there is a rule for: this API's, and Chat's own for the same things. */
export const partTypes: ReadonlyMap<string, PartType> = new Map([
  ['input_text', text],
  ['output_text', text],
  ['text', text],
  ['summary_text', text],
  ['reasoning_text', text],
  [
    'refusal',
    partType('text', ['refusal'], ['assistant'], (part, at) => ({
      type: 'refusal',
      refusal: readShape(refusalPart, part, at).refusal,
    })),
  ],
  [
    'encrypted_content',
    partType('text', ['encrypted_content'], everyone, (part, at, _settings, dropped) => {
      const { encrypted_content: given } = readShape(encryptedPart, part, at);
      if (!ciphertext.test(given)) return { type: 'text', text: given };
      dropped.push(`${at}.encrypted_content`);
      return null;
    }),
  ],
  [
    'input_image',
    partType('image', ['image_url', 'file_id', 'detail'], ['user', 'tool'], (part, at, settings, dropped) =>
      parseImage(readShape(imagePart, part, at), part, at, settings, dropped),
    ),
  ],
  [
    'image_url',
    partType('image', ['image_url'], ['user', 'tool'], (part, at, settings, dropped) => {
      const { image_url: given } = readShape(chatImagePart, part, at);
      const image = typeof given === 'string' ? { url: given } : readShape(chatImage, given, `${at}.image_url`);
      return parseImage({ ...image, image_url: image.url }, part, at, settings, dropped);
    }),
  ],
  ['input_file', file],
  [
    'file',
    partType('file', ['file'], ['user', 'tool'], (part, at, settings, dropped) =>
      parseFile(readShape(chatFilePart, part, at).file, `${at}.file`, settings, dropped),
    ),
  ],
  ['input_audio', partType('audio', ['input_audio', 'audio_url', 'data', 'format'], ['user'], parseAudio)],
  [
    'input_video',
    partType('video', ['video_url'], ['user', 'tool'], (part, at, settings, dropped) =>
      parseVideo(readShape(videoPart, part, at).video_url, at, settings, dropped),
    ),
  ],
  [
    'video_url',
    partType('video', ['video_url'], ['user', 'tool'], (part, at, settings, dropped) => {
      const { video_url: given } = readShape(chatVideoPart, part, at);
      const url = typeof given === 'string' ? given : readShape(chatVideo, given, `${at}.video_url`).url;
      return parseVideo(url, at, settings, dropped);
    }),
  ],
]);

/** A part of an unknown type: its text, or nothing, or refused. */
function parseUnknownPart(
  type: string,
  part: object,
  at: string,
  settings: TranslationSettings,
  dropped: Dropped,
): InputContent | null {
  if (isRefused(type, settings)) {
    const supported = [...partTypes.keys()].map(quote).join(', ');
    throw invalidValue(
      `${at}.type`,
      `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: ${supported}.`,
    );
  }
  dropped.pushUnknownType({ kind: 'part', type }, at);
  const carried = settings.unknownItems === 'drop' ? '' : textCarriedBy(part);
  return carried === '' ? null : { type: 'text', text: withinTextLimit(carried, at, settings) };
}

function parseImage(
  { image_url: url, file_id, detail }: z.output<typeof imagePart>,
  part: Record<string, unknown>,
  at: string,
  settings: TranslationSettings,
  dropped: Dropped,
): InputImage | InputText {
  const refusal = notSupported(at, 'images', settings.profile.name);
  if (settings.profile.image === 'omit')
    return settings.latestImages === 'omit'
      ? omit('image', at, dropped)
      : refuseOrOmit('image', refusal, settings, dropped);
  if (url == null || url === '') {
    if (file_id == null) throw missingParameter(`${at}.image_url`);
    const notHeld = unsupportedParameter(
      `${at}.file_id`,
      `Uploaded files are not held here: 'file_id' leads to none. Send the image itself in 'image_url', as a URL or as data:image/…;base64,….`,
    );
    return refuseOrOmit('uploaded_image', notHeld, settings, dropped);
  }
  if (!settings.profile.image) return refuseOrOmit('image', refusal, settings, dropped);
  const isReduced = detail === 'original' && !settings.profile.openaiOnly;
  if (isReduced) dropped.push('input[].content[].detail.original');
  return {
    type: 'image',
    url,
    detail: detail == null || detail === 'auto' ? null : isReduced ? 'high' : detail, // a missing detail means `auto`
    ...cacheHints(part, settings),
  };
}

function parseAudio(part: unknown, at: string, settings: TranslationSettings, dropped: Dropped): InputContent | null {
  const { profile } = settings;
  const read = readShape(audioPart, part, at);
  const { data, format } = read.input_audio ?? audioOf(read.audio_url) ?? read;
  if (data == null && read.audio_url != null) {
    // Chat takes no audio by URL, and nothing is fetched from here.
    dropped.push(`${at}.input_audio`);
    return null;
  }
  if (data == null) throw missingParameter(`${at}.input_audio`);
  if (format == null) throw missingParameter(`${at}.format`);
  if (!profile.audio) return refuseOrOmit('audio', notSupported(at, 'audio', profile.name), settings, dropped);
  return { type: 'audio', data, format };
}

/** Codex sends a data URL: `data:audio/wav;base64,…`. */
function audioOf(url: string | null | undefined): { readonly data: string; readonly format: string } | null {
  const [, format, data] = /^data:audio\/([\w.+-]+);base64,(.*)$/s.exec(url ?? '') ?? [];
  return format === undefined || data === undefined ? null : { data, format: format === 'mpeg' ? 'mp3' : format };
}

function parseVideo(url: string, at: string, settings: TranslationSettings, dropped: Dropped): InputContent {
  const { profile } = settings;
  if (!profile.video) return refuseOrOmit('video', notSupported(at, 'video', profile.name), settings, dropped);
  return { type: 'video', url };
}

function notSupported(at: string, what: string, profile: string): ApiError {
  return unsupportedParameter(
    at,
    `The upstream (profile '${profile}') takes no ${what} in messages. Send text instead.`,
  );
}

function misplaced(type: string, allowed: readonly Speaker[], speaker: Speaker, at: string): ApiError {
  const place = (one: Speaker) => (one === 'tool' ? 'a tool output' : `a message of role '${one}'`);
  return invalidValue(
    `${at}.type`,
    `Invalid value: ${quote(type)} for '${at}.type'. It may not stand in ${place(speaker)}. Send it in ${allowed.map(place).join(' or ')}.`,
  );
}

/** A prompt cache hint only helps a server that supports it. */
function cacheHints(part: Record<string, unknown>, { profile }: TranslationSettings): CacheHints | null {
  const { prompt_cache_breakpoint, cache_control } = part;
  if (prompt_cache_breakpoint == null && cache_control == null) return null;
  return {
    ...(prompt_cache_breakpoint != null && profile.openaiOnly ? { prompt_cache_breakpoint } : {}),
    ...(cache_control != null && profile.cacheControl ? { cache_control } : {}),
  };
}

/** A Fernet token, as OpenAI encrypts what agents tell each other; with a Chat server it is the model's own text. */
const ciphertext = /^gAAAA[\w-]{20,}={0,2}$/;
