import type * as z from 'zod/mini';
import { isJsonObject } from '../../../../formats/json/exact.ts';
import { generalOf } from '../../../../formats/json/loose.ts';
import type { Profile } from '../../../upstream/profile.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { CacheHints } from '../../../wire/schema/chat-request.ts';
import {
  audioPart,
  chatAudio,
  chatFile,
  chatFilePart,
  chatImage,
  chatVideo,
  encryptedPart,
  filePart,
  imagePart,
  refusalPart,
  textPart,
  videoPart,
} from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName, readExtensionKeys } from '../../shared/extension-name.ts';
import type { InputContent, InputMessage } from '../../shared/parsed.ts';
import {
  invalidValue,
  missingParameter,
  notOneOf,
  paramAt,
  quote,
  unsupportedParameter,
  withinBytes,
  withinTextLimit,
} from '../../shared/request-errors.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { dropStripped, dropUnknown, type KnownKeys, knownKeys, type PassedKeys } from './known-keys.ts';
import { isRefused, omit, readCarriedText, refuseOrOmit } from './left-out.ts';
import { parseFile } from './parse-file.ts';
import { parseShape, parseTyped } from './parse-shape.ts';

/** The role of the message that has the content; `tool` for a tool's output. */
type Speaker = InputMessage['role'] | 'tool';

/** `content` or `output` as parts: a string is one text part. Throws `ApiError` for the first mistake, and for a misplaced part. */
export function parseContent(
  content: string | readonly unknown[],
  speaker: Speaker,
  param: string,
  reading: Reading,
): InputContent[] {
  const { settings, provenance } = reading;
  if (typeof content === 'string') return [{ type: 'text', text: withinTextLimit(content, param, settings) }];
  const parts: InputContent[] = [];
  for (let index = 0; index < content.length; index++) {
    const parsed = parsePart(content[index], speaker, paramAt(param, index), reading);
    if (parsed === null) continue;
    provenance.markElement(parsed, param, index);
    parts.push(parsed);
  }
  return parts;
}

function parsePart(given: unknown, speaker: Speaker, at: string, reading: Reading): InputContent | null {
  const { settings } = reading;
  const [type, part] = parseTyped(given, at);
  const known = partTypes.get(type);
  if (known === undefined) {
    const isPassed = settings.profile.passExtensions && isExtensionName(type) && shown.includes(speaker);
    return isPassed ? (part as unknown as InputContent) : parseUnknownPart(type, part, at, reading);
  }
  if (!known.speakers.includes(speaker)) throw misplaced(type, known.speakers, speaker, at);
  checkSize(part, known.media, at, settings);
  const read = known.parse(part, at, reading);
  const own = readOwnKeys(part, settings.profile);
  const stays = own !== null && read !== null && staysAPart(read, speaker, settings.profile);
  const place = speaker === 'tool' ? 'input[].output[]' : 'input[].content[]';
  dropUnknown(known.keys, part, at, reading, stays ? own : null, place);
  return stays ? { ...read, ...own } : read;
}

/** The keys that go along with a part: hints for the prompt cache where the server knows them, and the server's own. Null for none. */
function readOwnKeys(part: CacheHints, profile: Profile): PassedKeys | null {
  const { prompt_cache_breakpoint, cache_control } = part;
  const extensions = readExtensionKeys(part as Readonly<Record<string, unknown>>, profile);
  const isMarked = prompt_cache_breakpoint != null && profile.openaiOnly;
  const isCached = cache_control != null && profile.cacheControl;
  if (!isMarked && !isCached) return extensions;
  return { ...(isMarked ? { prompt_cache_breakpoint } : {}), ...(isCached ? { cache_control } : {}), ...extensions };
}

/** Does the part become one of the Chat message? Texts are joined where the server, or the role, takes one text. */
function staysAPart(part: InputContent, speaker: Speaker, { arrayContent, systemMessages }: Profile): boolean {
  if (part.type !== 'text') return part.type !== 'refusal';
  if (part.text === '') return false;
  const isSystem = speaker === 'system' || speaker === 'developer';
  return speaker === 'user' || (isSystem && arrayContent && systemMessages !== 'leading_only');
}

const media = {
  text: { limit: 'maxTextBytes', what: 'text' },
  image: { limit: 'maxFileBytes', what: 'image URL' },
  file: { limit: 'maxFileBytes', what: 'file' },
  audio: { limit: 'maxFileBytes', what: 'audio' },
  video: { limit: 'maxFileBytes', what: 'video' },
} as const;

/** Refuses a part with a string above the limit of its medium, also in an object of it, as Chat nests its parts. */
function checkSize(part: object, medium: keyof typeof media, at: string, settings: TranslationSettings): void {
  const { limit, what } = media[medium];
  for (const [key, value] of Object.entries(part)) {
    if (key === 'type') continue;
    if (typeof value === 'string') withinBytes(value, settings.limits[limit], `${at}.${key}`, what);
    else if (isJsonObject(value)) checkSize(value, medium, `${at}.${key}`, settings);
  }
}

interface PartType {
  readonly keys: KnownKeys;
  readonly speakers: readonly Speaker[];
  readonly media: keyof typeof media;
  /** Null for a part that is left out, and listed as dropped. Throws `ApiError` for the first mistake. */
  parse(part: Record<string, unknown>, at: string, reading: Reading): InputContent | null;
}

function partType<Schema extends z.ZodMiniObject>(
  medium: PartType['media'],
  schema: Schema,
  speakers: readonly Speaker[],
  parse: (fields: z.output<Schema>, at: string, reading: Reading) => InputContent | null,
): PartType {
  return {
    keys: knownKeys(schema),
    speakers,
    media: medium,
    parse: (part, at, reading) => parse(parseShape(schema, part, at), at, reading),
  };
}

const everyone: readonly Speaker[] = ['user', 'system', 'developer', 'assistant', 'tool'];
const shown: readonly Speaker[] = ['user', 'tool'];

const text = partType('text', textPart, everyone, ({ text: given }) => ({ type: 'text', text: given }));

/** The address is text, or in Chat's object, under either name. */
const image = partType('image', imagePart, shown, ({ image_url: given, file_id, detail: beside }, at, reading) => {
  if (given == null || typeof given === 'string')
    return parseImage({ url: given, file_id, detail: beside }, at, reading);
  return withOwnKeys(given, `${at}.image_url`, reading, chatImage, ({ url, detail = beside }) =>
    parseImage({ url, file_id, detail }, at, reading),
  );
});
const video = partType('video', videoPart, shown, ({ video_url: given }, at, reading) => {
  if (typeof given === 'string') return parseVideo(given, at, reading);
  return withOwnKeys(given, `${at}.video_url`, reading, chatVideo, ({ url }) => parseVideo(url, at, reading));
});

/** The part made of an object that Chat nests in it. The server's own keys of that object are in the object that became of it. */
function withOwnKeys<Schema extends z.ZodMiniObject, Part extends InputContent | null>(
  given: Record<string, unknown>,
  at: string,
  reading: Reading,
  schema: Schema,
  make: (fields: z.output<Schema>) => Part,
): Part {
  const made = make(parseShape(schema, given, at));
  const own = readExtensionKeys(given, reading.settings.profile);
  const inner = made === null ? undefined : (made as Readonly<Record<string, unknown>>)[made.type];
  const isPassed = own !== null && isJsonObject(inner);
  dropStripped(schema, given, at, reading, isPassed ? own : null);
  return isPassed && made !== null ? { ...made, [made.type]: { ...inner, ...own } } : made;
}

/** The types of content parts: this API's, and Chat's own for the same things. */
export const partTypes: ReadonlyMap<string, PartType> = new Map([
  ['input_text', text],
  ['output_text', text],
  ['text', text],
  ['summary_text', text],
  ['reasoning_text', text],
  ['refusal', partType('text', refusalPart, ['assistant'], ({ refusal }) => ({ type: 'refusal', refusal }))],
  [
    'encrypted_content',
    partType('text', encryptedPart, everyone, ({ encrypted_content: given }, at, { dropped }) => {
      if (!ciphertext.test(given)) return { type: 'text', text: given };
      dropped.push(`${at}.encrypted_content`);
      return null;
    }),
  ],
  ['input_image', image],
  ['image_url', image],
  ['input_file', partType('file', filePart, shown, parseFile)],
  [
    'file',
    partType('file', chatFilePart, shown, ({ file }, at, reading) =>
      withOwnKeys(file, `${at}.file`, reading, chatFile, (fields) => parseFile(fields, `${at}.file`, reading)),
    ),
  ],
  ['input_audio', partType('audio', audioPart, ['user'], parseAudio)],
  ['input_video', video],
  ['video_url', video],
]);

/** A part of an unknown type becomes its text, or nothing, or is refused. */
function parseUnknownPart(type: string, part: object, at: string, { settings, dropped }: Reading): InputContent | null {
  if (isRefused(type, settings)) throw notOneOf(`${at}.type`, type, [...partTypes.keys()]);
  dropped.pushUnknownType({ kind: 'part', type }, at);
  const carried = settings.unknownItems === 'drop' ? '' : readCarriedText(part);
  return carried === '' ? null : { type: 'text', text: withinTextLimit(carried, at, settings) };
}

/** A Fernet token: OpenAI encrypts what agents tell each other. With a Chat server it is the model's own text. */
const ciphertext = /^gAAAA[\w-]{20,}={0,2}$/;

interface ImageFields extends Pick<z.output<typeof imagePart>, 'file_id' | 'detail'> {
  readonly url: string | null | undefined;
}

function parseImage({ url, file_id, detail }: ImageFields, at: string, reading: Reading): InputContent {
  const { profile } = reading.settings;
  const refusal = notSupported(at, 'images', profile.name);
  if (profile.image === 'omit') return omit('image', at, reading);
  if (url == null || url === '') {
    if (file_id == null) throw missingParameter(`${at}.image_url`);
    const notHeld = unsupportedParameter(
      `${at}.file_id`,
      `Uploaded files are not stored here, so 'file_id' cannot be used. Send the image itself in 'image_url', as a URL or as data:image/…;base64,….`,
    );
    return refuseOrOmit('uploaded_image', notHeld, reading);
  }
  if (!profile.image) return refuseOrOmit('image', refusal, reading);
  const isReduced = detail === 'original' && !profile.openaiOnly;
  if (isReduced) reading.dropped.push(`${generalOf(at)}.detail.original`);
  const sent = isReduced ? 'high' : detail;
  return {
    type: 'image_url',
    image_url: { url, ...(sent == null || sent === 'auto' ? {} : { detail: sent }) }, // a missing detail means `auto`
  };
}

function parseAudio(read: z.output<typeof audioPart>, at: string, reading: Reading): InputContent | null {
  const { input_audio: nested } = read;
  if (nested == null) return parseSound(readAudioUrl(read.audio_url) ?? read, read, at, reading);
  return withOwnKeys(nested, `${at}.input_audio`, reading, chatAudio, (sound) => parseSound(sound, read, at, reading));
}

function parseSound(
  { data, format }: Pick<z.output<typeof audioPart>, 'data' | 'format'>,
  read: z.output<typeof audioPart>,
  at: string,
  reading: Reading,
): InputContent | null {
  const { profile } = reading.settings;
  if (data == null && read.audio_url != null) {
    // Chat takes no audio by URL, and this service fetches nothing.
    reading.dropped.push(`${at}.input_audio`);
    return null;
  }
  if (data == null) throw missingParameter(`${at}.input_audio`);
  if (format == null) throw missingParameter(`${at}.format`);
  if (!profile.audio) return refuseOrOmit('audio', notSupported(at, 'audio', profile.name), reading);
  return { type: 'input_audio', input_audio: { data, format } };
}

/** Codex sends a data URL: `data:audio/wav;base64,…`. */
function readAudioUrl(url: string | null | undefined): { readonly data: string; readonly format: string } | null {
  const [, format, data] = /^data:audio\/([\w.+-]+);base64,(.*)$/s.exec(url ?? '') ?? [];
  return format === undefined || data === undefined ? null : { data, format: format === 'mpeg' ? 'mp3' : format };
}

function parseVideo(url: string, at: string, reading: Reading): InputContent {
  const { profile } = reading.settings;
  if (!profile.video) return refuseOrOmit('video', notSupported(at, 'video', profile.name), reading);
  return { type: 'video_url', video_url: { url } };
}

function notSupported(at: string, what: string, profile: string): ApiError {
  const message = `The upstream (profile '${profile}') does not accept ${what} in messages. Send text instead.`;
  return unsupportedParameter(at, message);
}

function misplaced(type: string, allowed: readonly Speaker[], speaker: Speaker, at: string): ApiError {
  const place = (one: Speaker) => (one === 'tool' ? 'a tool output' : `a message of role '${one}'`);
  const message = `Invalid value: ${quote(type)} for '${at}.type'. It is not allowed in ${place(speaker)}. Send it in ${allowed.map(place).join(' or ')}.`;
  return invalidValue(`${at}.type`, message);
}
