import type * as z from 'zod/mini';
import type { filePart } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import type { InputContent, InputText } from '../../shared/parsed.ts';
import { invalidValue, missingParameter, quote, unsupportedParameter } from '../../shared/request-errors.ts';
import { refuseOrOmit } from './left-out.ts';

/**
 * An `input_file` part. A text file becomes text: every server takes that, and OpenAI's file part is for PDF only. A file that the server
 * does not take is refused, or replaced by a text. URLs are not fetched: clients could reach whatever this service can reach.
 */
export function parseFile(
  { file_data, file_url, file_id, filename }: z.output<typeof filePart>,
  at: string,
  reading: Reading,
): InputContent {
  const { profile } = reading.settings;
  if (file_data != null) {
    const file = parseFileData(file_data, filename, at);
    const { mime } = file;
    if (isTextType(mime))
      return { type: 'text', text: `${filename ?? 'file'}:\n${decodeText(file, at)}`, hasOwnLines: true };
    if (profile.file === 'none') {
      const message = `The upstream (profile '${profile.name}') does not accept files of type ${quote(mime)} in 'file_data'. Send their text, or their pages as images.`;
      return notTaken(`${at}.file_data`, message);
    }
    const url = file_data.startsWith('data:') ? file_data : `data:${mime};base64,${file_data}`;
    return fileAt(url);
  }
  if (file_url != null) {
    if (profile.file === 'openrouter' || profile.file === 'mistral') return fileAt(file_url);
    const message = `The upstream (profile '${profile.name}') does not accept files by URL ('file_url'), and this service does not fetch them. Send the content in 'file_data'.`;
    return notTaken(`${at}.file_url`, message);
  }
  if (file_id == null) throw missingParameter(`${at}.file_data`);
  if (profile.file === 'openai') return { type: 'file', file: { file_id } };
  const message = `Uploaded files are not stored here, so 'file_id' cannot be used. Send the content in 'file_data', as data:…;base64,….`;
  return notTaken(`${at}.file_id`, message);

  function fileAt(url: string): InputContent {
    if (profile.file === 'mistral') return { type: 'document_url', document_url: url };
    return { type: 'file', file: { filename: filename ?? 'file.pdf', file_data: url } };
  }

  function notTaken(param: string, message: string): InputText {
    return refuseOrOmit('file', unsupportedParameter(param, message), reading);
  }
}

const mimeByExtension: ReadonlyMap<string, string> = new Map([
  ...`bash c cc cfg conf cpp cs css csv diff go h hpp htm html ini java js json jsx kt log lua md patch php pl py r rb rs
  rst scala sh sql srt svg swift tex toml ts tsv tsx txt vue xml yaml yml`
    .split(/\s+/)
    .map((extension) => [extension, 'text/plain'] as const),
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);

function isTextType(mime: string): boolean {
  return /^text\/|^application\/(json|xml|yaml|x-yaml|toml|sql|javascript|x-sh)$|\+(json|xml|yaml)$/.test(mime);
}

const maxDataUrlHeader = 1000;

/** `file_data` is a data URL or bare base64. The type of bare data is that of the file name's extension, or else PDF. */
function parseFileData(given: string, filename: string | null | undefined, at: string) {
  const comma = given.startsWith('data:') ? given.indexOf(',') : -1;
  if (comma === -1) {
    const extension = filename?.slice(filename.lastIndexOf('.') + 1).toLowerCase() ?? '';
    return { mime: mimeByExtension.get(extension) ?? 'application/pdf', data: given, isBase64: true };
  }
  if (comma > maxDataUrlHeader) {
    const message = `Invalid '${at}.file_data': the part before the comma is too long. Send data:TYPE;base64,….`;
    throw invalidValue(`${at}.file_data`, message);
  }
  const [mime = '', ...parameters] = given.slice('data:'.length, comma).toLowerCase().split(';');
  const isBase64 = parameters.at(-1)?.trim() === 'base64';
  return { mime: mime.trim() || 'text/plain', data: given.slice(comma + 1), isBase64 };
}

function decodeText({ data, isBase64 }: ReturnType<typeof parseFileData>, at: string): string {
  const param = `${at}.file_data`;
  if (isBase64 && /[^\w+/=\s-]/.test(data)) {
    throw invalidValue(param, `Invalid '${param}': it is not base64. Send data:…;base64,… or plain base64.`);
  }
  try {
    if (!isBase64) return decodeURIComponent(data);
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch {
    throw invalidValue(param, `Invalid '${param}': the file says it is text, but it is not UTF-8. Send it in UTF-8.`);
  }
}
