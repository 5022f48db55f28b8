import { isJsonObject } from '../../../../formats/json/exact.ts';
import { jsonSchemaFormat, plainFormat } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { readExtensionKeys } from '../../shared/extension-name.ts';
import type { TextFormatRequest } from '../../shared/parsed.ts';
import { missingParameter, notOneOf, unsupportedValue } from '../../shared/request-errors.ts';
import type { CreateResponseFields } from '../../shared/request-fields.ts';
import { parseFields } from './parse-shape.ts';

/** The format at `param`. Throws `ApiError` for a mistake, and for a strict schema where the server has no field for schemas. */
export function parseTextFormat(
  format: NonNullable<CreateResponseFields['text']>['format'],
  param: string,
  reading: Reading,
): TextFormatRequest {
  if (format == null) return { type: 'text' };
  const { profile } = reading.settings;
  const { type } = format;
  const extensions = readExtensionKeys(format, profile);
  if (type === 'text') {
    parseFields(plainFormat, format, param, reading);
    return { type };
  }
  if (type === 'json_object') {
    parseFields(plainFormat, format, param, reading, extensions);
    return { type, param, extensions };
  }
  if (type == null) throw missingParameter(`${param}.type`);
  if (type !== 'json_schema') throw notOneOf(`${param}.type`, type, ['text', 'json_object', 'json_schema']);
  if (isJsonObject(format['json_schema'])) {
    const message = `In the Responses API the schema's fields are not nested: "text": {"format": {"type": "json_schema", "name": …, "schema": …}}.`;
    throw missingParameter(`${param}.name`, message);
  }
  const read = parseFields(jsonSchemaFormat, format, param, reading, extensions);
  if (read.strict === true && profile.jsonSchema === 'prompt') {
    const message = `The upstream cannot enforce the JSON schema of 'text.format'. Send "strict": false to have the schema described to the model instead.`;
    throw unsupportedValue(param, message);
  }
  return { ...read, type, param, extensions };
}
