import { ApiError } from '../../schema/api-error.ts';
import {
  type CreateResponseFields,
  createResponseFields,
  isJsonObject,
  nestedFields,
} from '../../schema/create-response.ts';
import type { TranslationSettings } from '../settings.ts';
import { withinTextLimit } from './content.ts';
import type { ReadInput } from './items.ts';
import { readInput } from './items.ts';
import {
  invalidType,
  invalidValue,
  quote,
  readShape,
  shorten,
  unsupportedParameter,
  unsupportedValue,
} from './shape.ts';
import { plainText, type TextFormat, translateTextFormat } from './text-format.ts';
import { createToolTable, type ToolTable } from './tools.ts';

/** A request whose every field has been read and found good by itself. */
export interface ReadRequest {
  readonly fields: CreateResponseFields;
  readonly input: ReadInput | null;
  readonly tools: ToolTable;
  readonly format: TextFormat;
  /** Fields that go to the upstream as they are. */
  readonly extras: ReadonlyMap<string, unknown>;
}

/**
 * Reads the body field by field, in the order the client wrote them, so that the first mistake is the one reported.
 * `dropped` receives what a setting leaves out.
 */
export function readFields(body: unknown, settings: TranslationSettings, dropped: string[]): ReadRequest {
  if (!isJsonObject(body)) throw invalidType(null, 'an object', body);
  const fields: Record<string, unknown> = {};
  const extras = new Map<string, unknown>();
  const tools = createToolTable(settings, dropped);
  let input: ReadInput | null = null;
  let format = plainText;
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (!isKnownField(name)) {
      readUnknown(name, value, settings, extras, dropped);
      continue;
    }
    const read = readShape(createResponseFields[name], value, name);
    checkMeaning(name, read, settings);
    if (name === 'text' || name === 'reasoning') readUnknownKeys(name, value, settings, dropped);
    fields[name] = read;
    if (name === 'text') format = translateTextFormat(read as CreateResponseFields['text'], settings, dropped);
    if (name === 'tools') tools.add((read as unknown[] | null) ?? [], name, true);
    if (name === 'input' && read != null) input = readInput(read as string | unknown[], settings, dropped);
  }
  for (const list of input?.toolLists ?? []) tools.add(list.tools, list.param, false);
  return { fields: fields as CreateResponseFields, input, tools, format, extras };
}

function isKnownField(name: string): name is keyof typeof createResponseFields {
  return Object.hasOwn(createResponseFields, name);
}

/** Refuses values that are well formed and cannot be had here: most would need a memory between requests. */
function checkMeaning(name: keyof CreateResponseFields, value: unknown, settings: TranslationSettings): void {
  if (value == null) return;
  switch (name) {
    case 'store':
      if (value === true) {
        throw unsupportedValue(
          name,
          `Nothing is stored here: send "store": false, and the whole conversation as 'input' each time.`,
        );
      }
      return;
    case 'previous_response_id':
      throw ApiError.invalidRequest(
        'previous_response_not_found',
        name,
        `Previous response ${quote(value)} not found: nothing is stored here. Send the whole conversation as 'input'.`,
      );
    case 'background':
      if (value === true)
        throw unsupportedValue(
          name,
          `Background responses need a store, and there is none here. Use "stream": true for long answers.`,
        );
      return;
    case 'conversation':
      throw unsupportedParameter(name, `Conversations are not stored here. Send the whole conversation as 'input'.`);
    case 'prompt':
      throw unsupportedParameter(
        name,
        `Stored prompts cannot be found here. Send their text as 'instructions' and 'input'.`,
      );
    case 'context_management':
      if (Array.isArray(value) && value.length === 0) return;
      throw unsupportedParameter(
        name,
        `The context is not managed here. Shorten 'input' yourself when it grows too long.`,
      );
    case 'moderation':
      throw unsupportedParameter(name, `There is no moderation here. Call a moderation service of your own.`);
    case 'include':
      checkInclude(value as readonly string[], settings);
      return;
    case 'instructions':
      withinTextLimit(value as string, name, settings);
      return;
    case 'reasoning':
      checkReasoning(value as NonNullable<CreateResponseFields['reasoning']>);
      return;
    default:
      checkRefused(name, value, settings);
  }
}

/** Hosted tools' results: the items they belong to cannot occur, so there is nothing to leave out. */
const hostedIncludes = new Set([
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'message.input_image.image_url',
]);

function checkInclude(include: readonly string[], { profile }: TranslationSettings): void {
  for (const [index, value] of include.entries()) {
    const at = `include[${index}]`;
    if (value === 'reasoning.encrypted_content' || hostedIncludes.has(value)) continue;
    if (value !== 'message.output_text.logprobs') {
      throw invalidValue(
        at,
        `Invalid value: ${quote(value)} for '${at}'. Supported values are: 'reasoning.encrypted_content', 'message.output_text.logprobs'.`,
      );
    }
    if (profile.refusedFields.includes('logprobs')) {
      throw unsupportedValue(at, `The upstream (profile '${profile.name}') gives no log probabilities.`);
    }
  }
}

function checkReasoning({ mode, context }: NonNullable<CreateResponseFields['reasoning']>): void {
  if (mode != null && !['auto', 'default', 'standard'].includes(mode)) {
    throw unsupportedValue(
      'reasoning.mode',
      `The upstream has no reasoning modes. Leave 'reasoning.mode' out and use 'reasoning.effort'.`,
    );
  }
  // All reasoning that is sent is used, so `all_turns` is what happens anyway.
  if (context != null && !['auto', 'all_turns'].includes(context)) {
    throw unsupportedValue(
      'reasoning.context',
      `Only "all_turns" can be had here. Leave out the reasoning items that should not count.`,
    );
  }
}

function checkRefused(name: string, value: unknown, { profile }: TranslationSettings): void {
  const field = name === 'top_logprobs' ? 'logprobs' : name;
  if (value === 0 || !(profile.refusedFields as readonly string[]).includes(field)) return;
  throw unsupportedParameter(
    name,
    `The upstream (profile '${profile.name}') does not take '${field}'. Leave '${name}' out.`,
  );
}

/** Chat's own fields: the client was written for the other API. */
const chatFields: ReadonlyMap<string, string> = new Map([
  ['messages', `'input'`],
  ['max_tokens', `'max_output_tokens'`],
  ['max_completion_tokens', `'max_output_tokens'`],
  ['response_format', `'text.format'`],
  ['reasoning_effort', `'reasoning.effort'`],
  ['verbosity', `'text.verbosity'`],
  ['functions', `'tools'`],
  ['function_call', `'tool_choice'`],
  ['logprobs', `'top_logprobs', or "include": ["message.output_text.logprobs"]`],
]);

/** Book-keeping of clients that no server needs. */
const bookkeeping = new Set(['client_metadata']);

/** Sampling and engine parameters that many Chat servers know: passed on whatever is done with other fields. */
const engineFields = new Set(
  `stop seed logit_bias top_k min_p typical_p repetition_penalty length_penalty min_tokens ignore_eos skip_special_tokens
  chat_template_kwargs mm_processor_kwargs guided_json guided_regex guided_choice guided_grammar guided_decoding_backend
  guided_whitespace_pattern structured_outputs priority cache_salt separate_reasoning thinking enable_thinking
  thinking_budget reasoning_format reasoning_split clear_thinking extra_body provider models route transforms plugins
  usage web_search_options search_parameters safe_prompt prompt_mode keep_alive options`.split(/\s+/),
);

function readUnknown(
  name: string,
  value: unknown,
  settings: TranslationSettings,
  extras: Map<string, unknown>,
  dropped: string[],
): void {
  if (value === null || bookkeeping.has(name)) return;
  const replacement = chatFields.get(name);
  if (replacement !== undefined) {
    throw unsupportedParameter(
      name,
      `'${name}' belongs to the Chat Completions API. In the Responses API use ${replacement}.`,
    );
  }
  if (name === 'n')
    throw unsupportedParameter(name, `The Responses API gives one answer. Send several requests instead.`);
  if (engineFields.has(name) || settings.unknownFields === 'forward') {
    checkRefused(name, value, settings);
    const { renames } = settings.profile;
    extras.set((Object.hasOwn(renames, name) && renames[name]) || name, value);
  } else if (settings.unknownFields === 'reject') {
    throw unknownParameter(name);
  } else dropped.push(headerSafe(name));
}

/** Chat has no such objects that a key nobody knows could be passed on in. */
function readUnknownKeys(
  field: keyof typeof nestedFields,
  value: unknown,
  settings: TranslationSettings,
  dropped: string[],
): void {
  for (const [key, inner] of Object.entries(isJsonObject(value) ? value : {})) {
    if (inner === null || Object.hasOwn(nestedFields[field].shape, key)) continue;
    if (settings.unknownFields === 'reject') throw unknownParameter(`${field}.${key}`);
    dropped.push(headerSafe(`${field}.${key}`));
  }
}

function unknownParameter(name: string): ApiError {
  return ApiError.invalidRequest('unknown_parameter', shorten(name), `Unknown parameter: '${shorten(name)}'.`);
}

/** What is left out is named in a response header, and a field's name is the client's to choose. */
function headerSafe(name: string): string {
  return name.slice(0, 100).replaceAll(/[^\x21-\x7e]|,/g, '?');
}
