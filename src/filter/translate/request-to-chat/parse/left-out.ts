import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { Loose } from '../../../wire/schema/chat-completion.ts';
import { messageItem } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { InputMessage, InputText } from '../../shared/parsed.ts';
import type { TranslationSettings } from '../../shared/settings.ts';

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

/** A text that stands for the part at that path, which is listed as dropped. */
export function omit(what: keyof typeof omitted, at: string, { dropped }: Reading): InputText {
  const { type, text } = omitted[what];
  dropped.push(`${at}.${type}`);
  return { type: 'text', text: `[${text}]`, hasOwnLines: true };
}

/**
 * Answers for a part that the server does not take. Throws `refusal` for a part of the user's latest messages. An earlier part is history,
 * which clients repeat with each request, and a text stands for it.
 */
export function refuseOrOmit(what: keyof typeof omitted, refusal: ApiError, reading: Reading): InputText {
  if (reading.settings.isHistory !== true || refusal.param === null) throw refusal;
  // The path of the part in a path such as `input[0].content[1].file_data`.
  return omit(what, /^.*\]/.exec(refusal.param)?.[0] ?? refusal.param, reading);
}

/** The fields in which items of every known type carry text for the model. */
type LooseItem = Loose<'text' | 'content' | 'message' | 'summary' | 'output' | 'role'>;

/** With `extensions`, unknown types are refused unless they are a provider's own, `provider:type`, as in Open Responses. */
export function isRefused(type: string, { unknownItems }: Pick<TranslationSettings, 'unknownItems'>): boolean {
  return unknownItems === 'reject' || (unknownItems === 'extensions' && !isExtensionName(type));
}

/** The text in an item or part of an unknown type, in document order, from two levels; `''` for none. */
export function readCarriedText(value: object): string {
  const item: LooseItem = objectOf<LooseItem>(value) ?? {};
  const texts = [item.text, item.content, item.message, item.summary, item.output].flatMap(textsIn);
  return texts.filter((text) => text !== '').join('\n');
}

/** The role that an item of an unknown type states, if a message may have it. */
export function readStatedRole(value: object): InputMessage['role'] {
  const role = messageItem.shape.role.safeParse(objectOf<LooseItem>(value)?.role);
  return role.success ? role.data : 'user';
}

function textsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [textOf(value)];
  return value.map((part) => (typeof part === 'string' ? part : textOf(objectOf<Loose<'text'>>(part)?.text)));
}
