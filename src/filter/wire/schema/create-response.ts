import * as z from 'zod';

/**
 * What clients send to `POST /v1/responses`, by their field names: Open Responses 2026-04-24 (`CreateResponseBody`) and
 * what OpenAI's clients add. `null` is accepted for every optional field, as clients send it. Shapes only; what is
 * refused for its meaning is in `translate/request/parse/`. A schema reads no further than the fields of one object: lists are
 * `unknown[]`, and their entries are read one by one, so that a mistake is named where it is (not as a failed union) and
 * reading stops at the first. A list with a million mistakes costs no more than one.
 */

/** A JSON object, kept by reference: schemas and arguments leave as they came, odd keys and key order included. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** A number too long for a JavaScript number, kept as its text (`JSON.rawJSON`). */
export function isExactNumber(value: unknown): value is { readonly rawJSON: string } {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value); // not yet in TypeScript's es2024 library
}

export const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, { params: { expected: 'an object' } });
const stringMap = z.custom<Record<string, string>>(isJsonObject, { params: { expected: 'an object' } });
/** The nearest JavaScript number; one beyond their range (`1e400`) is the largest. */
const exactToDouble = (value: unknown) =>
  isExactNumber(value) ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(value.rawJSON))) : value;
const number = (least: number, most: number) =>
  z.preprocess(exactToDouble, z.number().min(least, 'decimal').max(most, 'decimal').nullish());
// Not `z.int()`, which would apply its own limits first.
const wholeNumber = z.number().refine(Number.isInteger, { params: { expected: 'an integer' } });
const integer = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(exactToDouble, wholeNumber.min(least, 'integer').max(most, 'integer').nullish());
const name = z.string().min(1);
/** The id of a call. */
export const callName = name;
/** An array as it came: `z.array` would copy it. */
export const list = z.custom<unknown[]>(Array.isArray, { params: { expected: 'an array' } });
/** Tools that may be called: as many as the API's `allowed_tools` may list. */
const allowedList = z.array(z.unknown()).min(1).max(128);
export const textOrList = z.union([z.string(), list]);

const serviceTiers = ['auto', 'default', 'flex', 'priority', 'scale', 'fast', 'ultrafast', 'standard'] as const;
const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const metadata = stringMap.superRefine((pairs, check) => {
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
});

/** The fields that are objects with fixed keys, by name. */
export const nestedFields = {
  text: z.object({
    format: jsonObject.nullish(),
    verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  }),
  reasoning: z.object({
    effort: z.enum(reasoningEfforts).nullish(),
    summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    mode: z.string().nullish(),
    context: z.string().nullish(),
  }),
} as const;

/** Every top-level field there is a rule for, by name. */
export const createResponseFields = {
  model: z.string().nullish(),
  input: textOrList.nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
  context_management: z.unknown().optional(),
  moderation: z.unknown().optional(),
  guardrails: z.unknown().optional(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  include: list.nullish(),
  tools: list.nullish(),
  tool_choice: z.union([z.string(), jsonObject]).nullish(),
  allowed_tools: allowedList.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: integer(16),
  max_tool_calls: integer(1),
  max_infer_iters: integer(1),
  temperature: number(0, 2),
  top_p: number(0, 1),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  top_logprobs: integer(0, 20),
  text: nestedFields.text.nullish(),
  reasoning: nestedFields.reasoning.nullish(),
  metadata: metadata.nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().max(128).nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  prompt_cache_retention: z.string().nullish(),
  prompt_cache_options: jsonObject.nullish(),
  generate: z.boolean().nullish(),
  service_tier: z.enum(serviceTiers).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
} as const;

/** The top-level fields of a request, each read; absent ones are absent. */
export type CreateResponseFields = {
  readonly [Name in keyof typeof createResponseFields]?: z.output<(typeof createResponseFields)[Name]>;
};

/** Input items by `type`. Fields of the server's own records (`id`, `status`) are not read. */
export const messageItem = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: textOrList,
  phase: z.unknown().optional(),
});
export const functionCallItem = z.object({
  call_id: name,
  name,
  namespace: z.string().nullish(),
  arguments: z.union([z.string(), jsonObject]),
  async: z.boolean().nullish(),
});
export const customToolCallItem = z.object({
  call_id: name,
  name,
  namespace: z.string().nullish(),
  input: z.string(),
  async: z.boolean().nullish(),
});
/** Some clients give the tool's name instead of the call's id, or both. */
export const toolOutputItem = z.object({
  call_id: z.string().nullish(),
  name: z.string().nullish(),
  namespace: z.string().nullish(),
  output: textOrList,
});
export const agentMessageItem = z.object({ content: textOrList });
export const configurationUpdateItem = z.object({
  reasoning: z.looseObject({ effort: z.enum(reasoningEfforts).nullish() }).nullish(),
  text: z.looseObject({ format: jsonObject.nullish() }).nullish(),
});
export const compactionItem = z.object({ encrypted_content: z.string().nullish() });
export const compactionTriggerItem = z.object({});
export const itemReference = z.object({ id: z.string() });
export const additionalToolsItem = z.object({ tools: list });
export const reasoningItem = z.object({
  id: z.unknown().optional(),
  content: list.nullish(),
  summary: list.nullish(),
  encrypted_content: z.string().nullish(),
});

/** A part of a reasoning item's `content` or `summary`. */
export const reasoningPart = z.object({ text: z.string().nullish() });

/** Content parts by `type`. */
export const textPart = z.object({ text: z.string() });
export const refusalPart = z.object({ refusal: z.string() });
const imageDetail = z.enum(['low', 'high', 'auto', 'original']);
export const imagePart = z.object({
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
  detail: imageDetail.nullish(),
});
export const filePart = z.object({
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
});
export const encryptedPart = z.object({ encrypted_content: z.string() });
/** Flat as in the AI SDK, nested as in Chat, or a URL as in Codex. */
export const audioPart = z.object({
  audio_url: z.string().nullish(),
  input_audio: z.object({ data: z.string(), format: z.string() }).nullish(),
  data: z.string().nullish(),
  format: z.string().nullish(),
});
export const videoPart = z.object({ video_url: z.string() });
/** Images, sounds and files in Chat's form, with a nested object. */
export const chatImagePart = z.object({ image_url: z.union([z.string(), jsonObject]) });
export const chatImage = z.object({ url: z.string(), detail: imageDetail.nullish() });
export const chatFilePart = z.object({ file: jsonObject });
export const chatVideoPart = z.object({ video_url: z.union([z.string(), jsonObject]) });
export const chatVideo = z.object({ url: z.string() });

/** Tools by `type`. */
export const toolNamePattern = /^[a-zA-Z0-9_-]{1,128}$/;
const toolName = z.string().regex(toolNamePattern);
export const functionTool = z.object({
  name: toolName,
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
  async: z.boolean().nullish(),
});
/** Inside a namespace the name may be longer: it is shortened with its prefix. */
export const namespacedFunctionTool = functionTool.extend({ name: z.string().regex(/^[a-zA-Z0-9_-]+$/) });
export const customTool = z.object({
  name: toolName,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('grammar'), syntax: z.string(), definition: z.string() }),
    ])
    .nullish(),
  async: z.boolean().nullish(),
});
export const namespacedCustomTool = customTool.extend({ name: z.string().regex(/^[a-zA-Z0-9_-]+$/) });
/** Every member's Chat name begins with it: one as long as the body would be copied and hashed for each of them. */
export const maxNamespaceLength = 512;
export const namespaceTool = z.object({
  name: name.max(maxNamespaceLength),
  description: z.string().nullish(),
  tools: list,
});

/** `tool_choice` objects by `type`. */
export const namedToolChoice = z.object({ name, namespace: z.string().nullish() });
const toolChoiceMode = z.enum(['none', 'auto', 'required']).nullish();
/** As the API has it, and with the list in the field of that name. */
export const allowedToolsChoice = {
  typed: z.object({ mode: toolChoiceMode, tools: allowedList }),
  flat: z.object({ mode: toolChoiceMode, allowed_tools: allowedList }),
};

/** `text.format` of type `json_schema`. */
export const jsonSchemaFormat = z.object({
  name,
  schema: jsonObject,
  strict: z.boolean().nullish(),
  description: z.string().nullish(),
});
export type JsonSchemaFormat = Readonly<z.output<typeof jsonSchemaFormat>>;
