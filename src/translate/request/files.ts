import type { ChatContentPart } from '../../schema/chat-request.ts';
import { filePart } from '../../schema/create-response.ts';
import type { TranslationSettings } from '../settings.ts';
import { checkBytes } from './limits.ts';
import { invalidValue, missingParameter, quote, readShape, unsupportedParameter } from './shape.ts';

/**
 * An `input_file` part in the shape the profile's server takes. Text files become text: every server takes that, and
 * OpenAI's file part is for PDF alone. A URL is never fetched from here: that would let clients reach what this service can reach.
 */
export function translateFile(part: unknown, at: string, { profile, limits }: TranslationSettings): ChatContentPart {
  const { file_data, file_url, file_id, filename } = readShape(filePart, part, at);
  if (file_data != null) {
    checkBytes(file_data, limits.maxFileBytes, `${at}.file_data`, 'file');
    const { mime, base64, url } = dataUrlOf(file_data, filename);
    if (mime.startsWith('text/')) {
      return { type: 'text', text: `${filename ?? 'file'}:\n${textOf(base64, at)}` };
    }
    switch (profile.file) {
      case 'openai':
      case 'openrouter':
        return { type: 'file', file: { filename: filename ?? 'file.pdf', file_data: url } };
      case 'mistral':
        return { type: 'document_url', document_url: url };
      case 'none':
        throw unsupportedParameter(
          `${at}.file_data`,
          `The upstream (profile '${profile.name}') takes no files of type ${quote(mime)}. Send their text, or their pages as images.`,
        );
    }
  }
  if (file_url != null) {
    if (profile.file === 'openrouter')
      return { type: 'file', file: { filename: filename ?? 'file.pdf', file_data: file_url } };
    if (profile.file === 'mistral') return { type: 'document_url', document_url: file_url };
    throw unsupportedParameter(
      `${at}.file_url`,
      `The upstream (profile '${profile.name}') takes no files by URL, and none is fetched from here. Send the content in 'file_data'.`,
    );
  }
  if (file_id == null) throw missingParameter(`${at}.file_data`);
  if (profile.file === 'openai') return { type: 'file', file: { file_id } };
  throw unsupportedParameter(
    `${at}.file_id`,
    `Uploaded files are not held here. Send the content in 'file_data', as data:…;base64,….`,
  );
}

const mimeByExtension: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
  log: 'text/plain',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  json: 'application/json',
};

/** `file_data` is a data URL or bare base64; bare data gets the type of the file name's extension, else PDF. */
function dataUrlOf(data: string, filename: string | null | undefined): { mime: string; base64: string; url: string } {
  const comma = data.startsWith('data:') ? data.indexOf(',') : -1;
  if (comma !== -1) {
    const mime = data.slice('data:'.length, comma).split(';')[0] ?? '';
    return { mime: mime === '' ? 'text/plain' : mime.toLowerCase(), base64: data.slice(comma + 1), url: data };
  }
  const extension = filename?.split('.').at(-1)?.toLowerCase() ?? '';
  const mime = (Object.hasOwn(mimeByExtension, extension) && mimeByExtension[extension]) || 'application/pdf';
  return { mime, base64: data, url: `data:${mime};base64,${data}` };
}

function textOf(base64: string, at: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw invalidValue(`${at}.file_data`, `Invalid '${at}.file_data': the file says it is text, but it is not UTF-8.`);
  }
}
