import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { Reading } from '../../shared/dropped.ts';
import type { InputText } from '../../shared/parsed.ts';

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
