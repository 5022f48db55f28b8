import { isJsonObject } from '../../../../formats/json/exact.ts';
import { type CreateResponseFields, jsonSchemaFormat } from '../../../wire/schema/create-response.ts';
import type { TextFormatRequest } from '../../shared/parsed.ts';
import { missingParameter, notOneOf, unsupportedValue } from '../../shared/request-errors.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { readShape } from './read-shape.ts';

const param = 'text.format';

/** `text.format`; text when it is absent. Throws `ApiError` for a mistake, and for a strict schema no server field could hold. */
export function parseTextFormat(
  format: NonNullable<CreateResponseFields['text']>['format'],
  { profile }: TranslationSettings,
): TextFormatRequest {
  const type = format?.['type'];
  if (format == null || type === 'text') return { type: 'text' };
  if (type === 'json_object') return { type };
  if (type == null) throw missingParameter(`${param}.type`);
  if (type !== 'json_schema') throw notOneOf(`${param}.type`, type, ['text', 'json_object', 'json_schema']);
  if (isJsonObject(format['json_schema'])) {
    throw missingParameter(
      `${param}.name`,
      `In the Responses API the schema's fields are not nested: "text": {"format": {"type": "json_schema", "name": …, "schema": …}}.`,
    );
  }
  const read = readShape(jsonSchemaFormat, format, param);
  if (read.strict === true && profile.jsonSchema === 'prompt') {
    throw unsupportedValue(
      param,
      `The upstream cannot enforce the JSON schema of 'text.format'. Send "strict": false to have the schema described to the model instead.`,
    );
  }
  return { type, ...read };
}
