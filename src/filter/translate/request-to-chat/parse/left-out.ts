import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { Loose } from '../../../wire/schema/chat-completion.ts';
import { messageItem } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { InputMessage, InputText } from '../../shared/parsed.ts';
import type { TranslationSettings } from '../../shared/settings.ts';

/** Placeholders for parts that the server does not take. */
const omitted = {
  image: { type: 'input_image', text: 'An image was here. It is left out, because this model takes no images.' },
  uploaded_image: {
    type: 'input_image',
    text: 'An uploaded image was here. It is left out: uploads are not held here.',
  },
  file: { type: 'input_file', text: 'A file was here. It is left out, because this server does not take it.' },
  audio: { type: 'input_audio', text: 'A sound was here. It is left out, because this model takes none.' },
  video: { type: 'input_video', text: 'A video was here. It is left out, because this model takes none.' },
};

/** A text in the place of the part at that path, which `dropped` names. */
export function omit(what: keyof typeof omitted, at: string, { dropped }: Reading): InputText {
  const { type, text } = omitted[what];
  dropped.push(`${at}.${type}`);
  return { type: 'text', text: `[${text}]`, hasOwnLines: true };
}

/**
 * For a part that the server does not take. In the messages of the user's that end the input it is what is asked for now:
 * throws `refusal`. Before that it is history, which clients repeat with each request: a text stands in its place.
 */
export function refuseOrOmit(what: keyof typeof omitted, refusal: ApiError, reading: Reading): InputText {
  if (reading.settings.isHistory !== true || refusal.param === null) throw refusal;
  // The part that the path is of, or is in: `input[0].content[1].file_data`.
  return omit(what, /^.*\]/.exec(refusal.param)?.[0] ?? refusal.param, reading);
}

/** Where items of every known type carry text for the model. */
type LooseItem = Loose<'text' | 'content' | 'message' | 'summary' | 'output' | 'role'>;

/** Whether an unknown type is refused; with `extensions` not `provider:type`, a provider’s own by Open Responses. */
export function isRefused(type: string, { unknownItems }: Pick<TranslationSettings, 'unknownItems'>): boolean {
  return unknownItems === 'reject' || (unknownItems === 'extensions' && !isExtensionName(type));
}

/** The text in an item or part of an unknown type, in document order; `''` for none. Reads two levels deep. */
export function textCarriedBy(value: object): string {
  const item: LooseItem = objectOf<LooseItem>(value) ?? {};
  const texts = [item.text, item.content, item.message, item.summary, item.output].flatMap(textsIn);
  return texts.filter((text) => text !== '').join('\n');
}

/** The role such an item states, where a message may have it. */
export function roleStatedBy(value: object): InputMessage['role'] {
  const role = messageItem.shape.role.safeParse(objectOf<LooseItem>(value)?.role);
  return role.success ? role.data : 'user';
}

function textsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [textOf(value)];
  return value.map((part) => (typeof part === 'string' ? part : textOf(objectOf<Loose<'text'>>(part)?.text)));
}
