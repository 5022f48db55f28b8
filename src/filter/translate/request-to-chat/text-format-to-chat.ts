import { generalOf } from '../../../formats/json/loose.ts';
import type { Profile } from '../../upstream/profile.ts';
import type { ChatResponseFormat } from '../../wire/schema/chat-request.ts';
import type { Reading } from '../shared/dropped.ts';
import type { TextFormatRequest } from '../shared/parsed.ts';
import { withoutBooleanSchemas } from '../shared/rewrite-schemas.ts';

/**
 * `text.format` as the server takes it: `chat` is its `response_format`, undefined to leave it out; `system` are instructions for the
 * model where the server has no field for the format, null for none; `echo` is the flat form that the Response repeats. A `strict` that
 * the server does not know, and a format that tools exclude, are dropped and listed.
 */
export function translateTextFormat(format: TextFormatRequest, hasTools: boolean, reading: Reading) {
  if (format.type === 'text') return { chat: undefined, system: null, echo: { type: 'text' } };
  const made = formatToChat(format, hasTools, reading);
  if (made.chat !== undefined) return { ...made, chat: { ...made.chat, ...format.extensions } };
  for (const key of Object.keys(format.extensions ?? {})) reading.dropped.pushKey(generalOf(format.param), key);
  return made;
}

function formatToChat(
  format: Exclude<TextFormatRequest, { readonly type: 'text' }>,
  hasTools: boolean,
  { settings: { profile, strictEcho }, dropped }: Reading,
): { readonly chat: ChatResponseFormat | undefined; readonly system: string | null; readonly echo: object } {
  const isBesideTools = excludesTools(profile) && hasTools;
  if (isBesideTools) dropped.push('text.format');
  const mode = isBesideTools ? 'prompt' : profile.jsonSchema;
  const answer = isBesideTools ? 'Unless you call a tool, answer' : 'Answer';
  if (format.type === 'json_object') {
    const echo = { type: 'json_object' };
    if (mode === 'prompt') return { chat: undefined, system: `${answer} with one JSON object and nothing else.`, echo };
    const chat = mode === 'native_schema' ? anyObject : ({ type: 'json_object' } as const);
    return { chat, system: null, echo };
  }
  const { name, schema, strict = null, description = null } = format;
  // A server that guarantees plain JSON gets the schema in the prompt, where nothing enforces it.
  const isStrict = strict === true && profile.strict && mode !== 'json_object' && mode !== 'prompt';
  if (strict === true && !isStrict && !isBesideTools) dropped.push('text.format.strict');
  const echo = {
    type: 'json_schema',
    name,
    description,
    schema: strictEcho ? null : schema,
    strict: isStrict,
  };
  const about = description === null || description === '' ? '' : `${description}\n`;
  switch (mode) {
    case 'native':
    case 'native_without_tools':
    case 'native_schema': {
      const chat: ChatResponseFormat = {
        type: 'json_schema',
        json_schema: {
          name,
          ...(description === null || description === '' ? {} : { description }),
          schema: withoutBooleanSchemas(schema),
          ...(strict !== null && profile.strict ? { strict } : {}),
        },
      };
      return { chat, system: null, echo };
    }
    case 'json_object': // DeepSeek: the server guarantees valid JSON; the schema goes into the prompt
      return { chat: { type: 'json_object' } as const, system: `${about}JSON schema: ${JSON.stringify(schema)}`, echo };
    case 'prompt':
      return {
        chat: undefined,
        system: `${about}${answer} with JSON that conforms to this JSON schema, and nothing else: ${JSON.stringify(schema)}`,
        echo,
      };
  }
}

/** Does the server take either a format or tools? The grammar of a format would prevent every call. */
export function excludesTools({ jsonSchema }: Pick<Profile, 'jsonSchema'>): boolean {
  return jsonSchema === 'native_without_tools' || jsonSchema === 'native_schema';
}

const anyObject: ChatResponseFormat = {
  type: 'json_schema',
  json_schema: { name: 'object', schema: { type: 'object' } },
};
