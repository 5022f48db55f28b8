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
    const file = fileOf(file_data, filename);
    const { mime } = file;
    if (isText(mime)) return { type: 'text', text: `${filename ?? 'file'}:\n${textOf(file, at)}` };
    const url = file_data.startsWith('data:') ? file_data : `data:${mime};base64,${file_data}`;
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

/** Text, and the formats that are text under another name. */
function isText(mime: string): boolean {
  return /^text\/|^application\/(json|xml|yaml|x-yaml|toml|sql|javascript|x-sh)$|\+(json|xml|yaml)$/.test(mime);
}

interface FileData {
  readonly mime: string;
  readonly data: string;
  readonly isBase64: boolean;
}

/** `file_data` is a data URL or bare base64; bare data gets the type of the file name's extension, else PDF. */
function fileOf(given: string, filename: string | null | undefined): FileData {
  const comma = given.startsWith('data:') ? given.indexOf(',') : -1;
  if (comma === -1) {
    const extension = filename?.split('.').at(-1)?.toLowerCase() ?? '';
    return { mime: mimeByExtension.get(extension) ?? 'application/pdf', data: given, isBase64: true };
  }
  const [mime = '', ...parameters] = given.slice('data:'.length, comma).toLowerCase().split(';');
  const isBase64 = parameters.at(-1)?.trim() === 'base64';
  return { mime: mime.trim() || 'text/plain', data: given.slice(comma + 1), isBase64 };
}

function textOf({ data, isBase64 }: FileData, at: string): string {
  const param = `${at}.file_data`;
  if (isBase64 && /[^\w+/=\s-]/.test(data)) {
    throw invalidValue(param, `Invalid '${param}': it is not base64.`);
  }
  try {
    if (!isBase64) return decodeURIComponent(data);
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch {
    throw invalidValue(param, `Invalid '${param}': the file says it is text, but it is not UTF-8.`);
  }
}
