import * as z from 'zod/mini';
import { $constructor, $ZodObjectJIT } from 'zod/v4/core';
import { isExactNumber, isJsonObject } from '../../../formats/json/exact.ts';

/**
 * The shapes of what clients send to `POST /v1/responses`: Open Responses 2026-04-24 (`CreateResponseBody`) and
 * what OpenAI's clients add. `null` is accepted for every optional field, as clients send it. The rows in
 * `translate/shared/request-fields.ts` give top-level fields their shapes. A schema reads no further than the fields of one object: lists are
 * `unknown[]`, and their entries are read one by one, so that a mistake is named where it is (not as a failed union), and a list with a
 * million mistakes costs no more than one.
 */

/**
 * An object that is read by code made of its fields, as an object of `zod` is, and one of `zod/mini` is not: it takes a fourth of the time,
 * and a history has hundreds of items.
 */
const compiledObject: z.core.$constructor<z.ZodMiniObject> = $constructor('ZodMiniObject', (own, definition) => {
  const inits: readonly ((own: z.ZodMiniObject, definition: z.core.$ZodObjectDef) => void)[] = [
    $ZodObjectJIT.init,
    z.ZodMiniType.init,
  ];
  for (const init of inits) init(own, definition);
  Object.assign(own, { shape: definition.shape });
});
const compiled = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  new compiledObject({ type: 'object', shape }) as z.ZodMiniObject<Shape>;

export const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, { params: { expected: 'an object' } });
const stringMap = z.custom<Record<string, string>>(isJsonObject, { params: { expected: 'an object' } });
/** The nearest JavaScript number; for a number beyond their range (`1e400`), the largest. */
const exactToDouble = (value: unknown) =>
  isExactNumber(value) ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(value.rawJSON))) : value;
export const number = (least: number, most: number) =>
  z.pipe(z.transform(exactToDouble), z.nullish(z.number().check(z.gte(least, 'decimal'), z.lte(most, 'decimal'))));
// `z.int()` would apply its own limits first.
const isInteger = z.refine(Number.isInteger, { params: { expected: 'an integer' } });
export const integer = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.pipe(
    z.transform(exactToDouble),
    z.nullish(z.number().check(isInteger, z.gte(least, 'integer'), z.lte(most, 'integer'))),
  );
/**
 * Characters of a name, of a namespace, and of the type of an item, a part or a tool. Names are repeated with each call, and where they are
 * listed as dropped. MCP's tools have up to 128, OpenAI's up to 64.
 */
export const maxNameLength = 512;
/** Characters of an id. Copilot's items have ids of 1,760 (github/app#499); LiteLLM's calls carry Gemini's signature in ids of 949 (litellm#41590). */
export const maxIdLength = 16_384;
const name = z.string().check(z.minLength(1), z.maxLength(maxNameLength));
const optionalName = z.nullish(z.string().check(z.maxLength(maxNameLength)));
export const callId = z.string().check(z.minLength(1), z.maxLength(maxIdLength));
/** An array as it came: `z.array` would copy it, which is affordable for a list of at most 128. */
export const list = z.custom<unknown[]>(Array.isArray, { params: { expected: 'an array' } });
/** Tools that may be called: as many as the API's `allowed_tools` may list. */
export const allowedList = z.array(z.unknown()).check(z.minLength(1), z.maxLength(128));
export const textOrList = z.union([z.string(), list]);

// One schema serves all fields of a kind, since each takes time and memory at a start.
export const optionalText = z.nullish(z.string());
export const optionalBoolean = z.nullish(z.boolean());
export const optionalObject = z.nullish(jsonObject);
export const optionalList = z.nullish(list);
export const optionalValue = z.optional(z.unknown());
/** A key that the API or a server has and no schema here reads. Unless the upstream gets it, it is dropped and listed, and never refused. */
export const unread = z.optional(z.unknown());

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export const metadata = stringMap.check(
  z.superRefine((pairs, check) => {
    const keys = Object.keys(pairs);
    if (keys.length > 16) {
      check.addIssue({ code: 'too_big', origin: 'array', maximum: 16, input: pairs, message: 'pairs' });
      return;
    }
    for (const key of keys) {
      const value: unknown = pairs[key];
      const path = [key];
      if (key.length > 64) {
        check.addIssue({ code: 'too_big', origin: 'string', maximum: 64, input: key, path, message: 'key' });
      } else if (typeof value !== 'string') {
        check.addIssue({ code: 'invalid_type', expected: 'string', input: value, path });
      } else if (value.length > 512) {
        check.addIssue({ code: 'too_big', origin: 'string', maximum: 512, input: value, path, message: 'value' });
      }
    }
  }),
);

/** The fields that are objects with fixed keys, by name. */
export const nestedFields = {
  text: z.object({
    format: optionalObject,
    verbosity: z.nullish(z.enum(['low', 'medium', 'high'])),
  }),
  reasoning: z.object({
    effort: z.nullish(z.enum(reasoningEfforts)),
    summary: z.nullish(z.enum(['auto', 'concise', 'detailed'])),
    generate_summary: z.nullish(z.enum(['auto', 'concise', 'detailed'])),
    mode: optionalText,
    context: optionalText,
  }),
  stream_options: z.object({
    include_obfuscation: optionalBoolean,
    include_usage: optionalValue, // Chat's; every Response has it
  }),
  prompt_cache_options: z.object({
    mode: optionalValue,
    ttl: optionalValue,
    prewarm: optionalBoolean,
    comparison_response_id: unread,
  }),
} as const;

/** Input items by `type`. Fields of the server's own records (`id`, `status`) are not read. */
export const messageItem = compiled({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: textOrList,
  phase: optionalValue,
  // Fields of Chat are refused where they say something.
  tool_calls: optionalValue,
  function_call: optionalValue,
  tool_call_id: optionalValue,
});
export const functionCallItem = compiled({
  call_id: callId,
  name,
  namespace: optionalName,
  arguments: z.union([z.string(), jsonObject]),
  async: optionalBoolean,
});
export const customToolCallItem = compiled({
  call_id: callId,
  name,
  namespace: optionalName,
  input: z.string(),
  async: optionalBoolean,
});
/** Some clients give the tool's name instead of the call's id, or both. */
export const toolOutputItem = compiled({
  call_id: z.nullish(z.string().check(z.maxLength(maxIdLength))),
  name: optionalName,
  namespace: optionalName,
  output: textOrList,
});
export const agentMessageItem = z.object({ content: textOrList, author: optionalValue, recipient: optionalValue });
export const configurationUpdateItem = z.object({
  reasoning: z.nullish(z.object({ effort: z.nullish(z.enum(reasoningEfforts)), summary: unread })),
  text: z.nullish(z.object({ format: optionalObject, verbosity: unread })),
});
export const compactionItem = z.object({ encrypted_content: optionalText });
export const compactionTriggerItem = z.object({});
export const itemReference = z.object({ id: z.string() });
export const additionalToolsItem = z.object({ tools: list, role: optionalValue });
export const reasoningItem = compiled({
  id: optionalValue,
  content: optionalList,
  summary: optionalList,
  encrypted_content: optionalText,
});

/** A generated picture. The fields besides `result` say how it was made, and no Chat server takes them. */
export const imageGenerationItem = z.object({
  result: optionalValue,
  revised_prompt: optionalValue,
  action: optionalValue,
  background: optionalValue,
  error: optionalValue,
  output_format: optionalValue,
  quality: optionalValue,
  size: optionalValue,
  svg_usage: optionalValue,
});

export const reasoningPart = z.object({ type: optionalValue, text: optionalText });

const partHints = { prompt_cache_breakpoint: optionalValue, cache_control: unread };
/** No model reads the citations, the log probabilities and the parsed values of earlier answers. */
export const textPart = compiled({
  text: z.string(),
  annotations: optionalValue,
  logprobs: optionalValue,
  parsed: optionalValue,
  ...partHints,
});
export const refusalPart = z.object({ refusal: z.string(), ...partHints });
const textOrObject = z.union([z.string(), jsonObject]);
const imageDetail = z.enum(['low', 'high', 'auto', 'original']);
export const imagePart = z.object({
  image_url: z.nullish(textOrObject),
  file_id: optionalText,
  detail: z.nullish(imageDetail),
  ...partHints,
});
const fileFields = { file_data: optionalText, file_url: optionalText, file_id: optionalText, filename: optionalText };
export const filePart = z.object({ ...fileFields, detail: unread, ...partHints });
export const encryptedPart = z.object({ encrypted_content: z.string(), ...partHints });
/** A sound is flat as in the AI SDK, nested as in Chat, or a URL as in Codex. */
export const audioPart = z.object({
  audio_url: optionalText,
  input_audio: optionalObject,
  data: optionalText,
  format: optionalText,
  ...partHints,
});
export const videoPart = z.object({ video_url: textOrObject, ...partHints });
/** The objects that Chat nests in a part: an image, a sound, a file, a video. */
export const chatImage = z.object({ url: z.string(), detail: z.nullish(imageDetail) });
export const chatAudio = z.object({ data: z.string(), format: z.string() });
export const chatFilePart = z.object({ file: jsonObject, ...partHints });
export const chatFile = z.object(fileFields);
export const chatVideo = z.object({ url: z.string() });

export const toolNamePattern = /^[a-zA-Z0-9_-]{1,128}$/;
/** Keys for tools that OpenAI's servers search, or call from a program. */
const serversToolKeys = { defer_loading: unread, allowed_callers: unread };
const toolName = z.string().check(z.regex(toolNamePattern));
export const functionTool = compiled({
  name: toolName,
  description: optionalText,
  parameters: optionalObject,
  strict: optionalBoolean,
  async: optionalBoolean,
  cache_control: unread,
  ...serversToolKeys,
  output_schema: unread,
});
/** Inside a namespace the name may be longer, since it is shortened with its prefix. */
const longToolName = z.string().check(z.regex(/^[a-zA-Z0-9_-]+$/), z.maxLength(maxNameLength));
export const namespacedFunctionTool = z.extend(functionTool, { name: longToolName });
export const customTool = z.object({
  name: toolName,
  description: optionalText,
  format: optionalObject,
  async: optionalBoolean,
  ...serversToolKeys,
});
export const customFormats = {
  text: z.object({ type: z.literal('text') }),
  grammar: z.object({ type: z.literal('grammar'), syntax: z.string(), definition: z.string() }),
  nested: z.object({ type: z.literal('grammar'), grammar: jsonObject }),
};
export type CustomToolFormat = Readonly<z.output<typeof customFormats.text | typeof customFormats.grammar>>;
export const namespacedCustomTool = z.extend(customTool, { name: longToolName });
export const namespaceTool = z.object({
  name,
  description: optionalText,
  tools: list,
});

/** A `tool_choice` of a tool without a name of its own, such as `shell`. */
export const typedToolChoice = z.object({ type: z.string(), name: optionalValue });
export const namedToolChoice = z.object({ type: optionalValue, name, namespace: optionalName });
const toolChoiceMode = z.nullish(z.enum(['none', 'auto', 'required']));
/** A list of allowed tools as in the API, and with the list in the field of that name. */
export const allowedToolsChoice = {
  typed: z.object({ type: optionalValue, mode: toolChoiceMode, tools: allowedList }),
  flat: z.object({ type: optionalValue, mode: toolChoiceMode, allowed_tools: allowedList }),
};

/** `text.format` of the types `text` and `json_object`, which have nothing else. */
export const plainFormat = z.object({ type: optionalValue });
export const jsonSchemaFormat = z.object({
  type: optionalValue,
  name,
  schema: jsonObject,
  strict: optionalBoolean,
  description: optionalText,
});
export type JsonSchemaFormat = Readonly<Omit<z.output<typeof jsonSchemaFormat>, 'type'>>;
