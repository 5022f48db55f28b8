import { type CreateResponseFields, isJsonObject, jsonSchemaFormat } from '../../schema/create-response.ts';
import type { TranslationSettings } from '../settings.ts';
import { invalidValue, missingParameter, quote, readShape, unsupportedValue } from './shape.ts';

export interface TextFormat {
  /** Chat's `response_format`; undefined leaves it out. */
  readonly chat: unknown;
  /** What the model must be told in words, where the server has no field for it; null for nothing. */
  readonly system: string | null;
  /** The flat form the Response repeats. */
  readonly echo: unknown;
}

const param = 'text.format';

/** What happens when no format is asked for. */
export const plainText: TextFormat = { chat: undefined, system: null, echo: { type: 'text' } };

/** `text.format` as the profile's server takes it. Throws where it cannot keep a strict schema. */
export function translateTextFormat(
  text: CreateResponseFields['text'],
  { profile, strictEcho }: TranslationSettings,
  dropped: string[],
): TextFormat {
  const format = text?.format;
  const type = format?.['type'];
  if (format == null || type === 'text') return plainText;
  if (type === 'json_object') {
    const echo = { type: 'json_object' };
    if (profile.jsonSchema === 'prompt')
      return { chat: undefined, system: 'Answer with one JSON object and nothing else.', echo };
    return { chat: { type: 'json_object' }, system: null, echo };
  }
  if (type == null) throw missingParameter(`${param}.type`);
  if (type !== 'json_schema') {
    throw invalidValue(
      `${param}.type`,
      `Invalid value: ${quote(type)} for 'text.format.type'. Supported values are: 'text', 'json_object', 'json_schema'.`,
    );
  }
  if (isJsonObject(format['json_schema'])) {
    throw missingParameter(
      `${param}.name`,
      'This API takes the schema flat: "text": {"format": {"type": "json_schema", "name": …, "schema": …}}.',
    );
  }
  const { name, schema, strict, description } = readShape(jsonSchemaFormat, format, param);
  const echo = {
    type: 'json_schema',
    name,
    description: description ?? null,
    schema: strictEcho ? null : schema,
    strict: strict ?? false,
  };
  const about = description == null || description === '' ? '' : `${description}\n`;
  switch (profile.jsonSchema) {
    case 'native': {
      if (strict === true && !profile.strict) dropped.push(`${param}.strict`);
      const json_schema = {
        name,
        ...(about === '' ? {} : { description }),
        schema,
        ...(typeof strict === 'boolean' && profile.strict ? { strict } : {}),
      };
      return { chat: { type: 'json_schema', json_schema }, system: null, echo };
    }
    case 'json_object': // DeepSeek: valid JSON is kept by the server, the schema is only told
      return { chat: { type: 'json_object' }, system: `${about}JSON schema: ${JSON.stringify(schema)}`, echo };
    case 'prompt':
      if (strict === true) {
        throw unsupportedValue(
          param,
          `This upstream cannot hold an answer to a JSON schema. Send "strict": false to have the schema told to the model instead.`,
        );
      }
      return {
        chat: undefined,
        system: `${about}Answer with JSON that conforms to this JSON schema, and nothing else: ${JSON.stringify(schema)}`,
        echo,
      };
  }
}
