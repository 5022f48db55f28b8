import { knownTypes } from '../../../src/filter/translate/known-types.ts';
import { partTypes } from '../../../src/filter/translate/request-to-chat/parse/parse-content.ts';
import { requestFields } from '../../../src/filter/translate/shared/request-fields.ts';
import { createTestSettings } from '../settings.ts';
import { type Family, MeteredExchange } from './family.ts';

/** What a rule, a pattern or a scan may begin with again and again, and never finds the end of. */
const beginnings = ['grok-4', ' ', '\n', '{"', '<th', 'data:;', '}_', '\ud83d'];

/** Names that strings of items, parts and tools have. */
const names = `text content output arguments input call_id name namespace id role refusal image_url file_data file_url
  filename audio_url video_url encrypted_content summary commands action operation description parameters schema status
  definition syntax server_label execution phase detail`.split(/\s+/);

/** Every string that such an object may have; `role` as it must be, so that the others are read. */
function filled(text: string, type: string): object {
  const strings = Object.fromEntries(names.map((name) => [name, text]));
  return { type, ...strings, ...(type === 'message' && { role: 'user' }) };
}

/** Where a client may write as much as it likes. */
const fields: Readonly<Record<string, (text: string) => object>> = {
  ...Object.fromEntries(Array.from(requestFields.keys()).map((name) => [name, (text: string) => ({ [name]: text })])),
  'a field that nobody knows': (text) => ({ unheard_of: text }),
  'the name of a field': (text) => ({ [text]: 1 }),
  ...Object.fromEntries(
    [...knownTypes.items.keys()].map((type) => [
      `an item of type ${type}`,
      (text: string) => ({ input: [filled(text, type)] }),
    ]),
  ),
  ...Object.fromEntries(
    [...partTypes.keys()].map((type) => [
      `a part of type ${type}`,
      (text: string) => ({ input: [{ role: 'user', content: [filled(text, type)] }] }),
    ]),
  ),
  ...Object.fromEntries(
    [...knownTypes.tools.keys(), 'mcp', 'web_search'].map((type) => [
      `a tool of type ${type}`,
      (text: string) => ({ tools: [filled(text, type)] }),
    ]),
  ),
  'the type of an item': (text) => ({ input: [{ type: text }] }),
  'the text of a format': (text) => ({
    text: { format: { type: 'json_schema', name: 'f', schema: { description: text }, description: text } },
  }),
  'a tool of a choice': (text) => ({ tool_choice: { type: 'function', name: text } }),
};

/** With rules for models by their names, and with fields that nobody knows passed on. */
const settings = createTestSettings({ profile: 'xai', unknownFields: 'forward', limits: { maxNesting: 1000 } });

function placed(name: string, bodyOf: (text: string) => object, beginning: string, size: number): Family {
  return {
    ...{ door: 'gRPC stream', name, size },
    make(size: number) {
      const text = beginning.repeat(Math.ceil((32 * size) / beginning.length));
      const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...bodyOf(text) }));
      return { bytes: body.length, run: () => new MeteredExchange(settings).request(body).outcome() };
    },
  };
}

/** A text in every place where one can be, of every beginning that a regular expression may try again and again. */
export const places: readonly Family[] = Object.entries(fields).flatMap(([place, bodyOf]) =>
  beginnings.map((beginning) =>
    placed(`${place} of ${JSON.stringify(beginning)} again and again`, bodyOf, beginning, 128),
  ),
);

/** A text in each of them that is long enough to be seen where it is kept and not counted. */
export const longTexts: readonly Family[] = Object.entries(fields).map(([place, bodyOf]) =>
  placed(`a long text in ${place}`, bodyOf, 'a', 1024),
);
