import { isJsonObject } from '../../../../formats/json/exact.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import { type CreateResponseFields, createResponseFields, nestedFields } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { ChosenTool, CreateResponse, Prewarm, TextFormatRequest, ToolChoiceRequest } from '../../shared/parsed.ts';
import {
  invalidType,
  invalidValue,
  quote,
  unknownParameter,
  unsupportedParameter,
  unsupportedValue,
  withinLength,
} from '../../shared/request-errors.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { withinTextLimit } from './parse-content.ts';
import { type ParsedInput, parseInput } from './parse-input.ts';
import { parseTextFormat } from './parse-text-format.ts';
import { parseAllowedList, parseToolChoice, withAllowedTools } from './parse-tool-choice.ts';
import { parseTools } from './parse-tools.ts';
import { readShape } from './read-shape.ts';
import type { RequestReading } from './reading.ts';
import { maxModelLength } from './settings-for-model.ts';
import { ToolsBuilder } from './tools-builder.ts';

/**
 * The one place where an untrusted body becomes a typed request. It is parsed in the order the client wrote it, so that
 * the mistake reported is the first in the document. Throws `ApiError` for a wrong shape, and for a value that these settings or
 * this upstream do not allow. `passthrough` are fields that go to the upstream as they are, by the upstream's names.
 */
export function parseRequest(body: unknown, reading: RequestReading) {
  const { settings, dropped, provenance, known } = reading;
  if (!isJsonObject(body)) throw invalidType(null, 'an object', body);
  const fields: Record<string, unknown> = {};
  const passthrough = new Map<string, unknown>();
  const tools = new ToolsBuilder(reading);
  let input: ParsedInput | null = null;
  let format: TextFormatRequest = { type: 'text' };
  let verbosity: string | null = null;
  let include: readonly string[] = [];
  let toolChoice: ToolChoiceRequest | null = null;
  let allowedTools: readonly ChosenTool[] | null = null;
  const prewarm = prewarmIn(body);
  for (const name of namesOf(body, null)) {
    const value = body[name];
    provenance.reading(name);
    if (!isKnownField(name)) {
      parseUnknown(name, value, passthrough, reading);
      continue;
    }
    if (Object.hasOwn(nestedFields, name) && isJsonObject(value)) namesOf(value, name); // for its limit
    const read = readShape(createResponseFields[name], value, name, reading);
    checkMeaning(name, read, settings);
    // The casts below: `read` is the output of the schema of that name, which the compiler cannot follow through a lookup.
    switch (name) {
      case 'text': {
        const text = read as CreateResponseFields['text'];
        format = parseTextFormat(text?.format, 'text.format', reading);
        verbosity = text?.verbosity ?? null;
        break;
      }
      case 'include':
        include = parseInclude((read as CreateResponseFields['include']) ?? [], reading);
        break;
      case 'tools':
        parseTools({ tools: (read as CreateResponseFields['tools']) ?? [], param: name }, true, known.tools, tools);
        break;
      case 'tool_choice':
        toolChoice = parseToolChoice(read as CreateResponseFields['tool_choice'], reading);
        break;
      case 'allowed_tools':
        if (read != null) allowedTools = parseAllowedList(read as unknown[], name, reading);
        break;
      case 'input':
        // A request that only warms a prompt up may come without input, as an empty list.
        if (read != null && !(prewarm !== null && Array.isArray(read) && read.length === 0))
          input = parseInput(read as string | unknown[], reading);
        break;
      case 'context_management':
        // A preference for long conversations; a client that has it sends it with each request.
        if (Array.isArray(read) && read.length > 0) dropped.push(name);
        break;
      case 'max_infer_iters':
        // The model is asked once, which is within any limit.
        if (read != null) dropped.push(name);
        break;
      default:
        fields[name] = read;
    }
  }
  if (input !== null && input.update.effort != null) {
    fields['reasoning'] = {
      ...(fields['reasoning'] as CreateResponseFields['reasoning']),
      effort: input.update.effort,
    };
  }
  if (input !== null && input.update.format !== null) {
    const { format: updated, formatAt } = input.update;
    provenance.reading(formatAt);
    format = parseTextFormat(updated, `${formatAt}.text.format`, reading);
  }
  for (const list of input?.toolLists ?? []) parseTools(list, false, known.tools, tools);
  const choice = withAllowedTools(toolChoice, allowedTools);
  provenance.mark(format, provenance.pathOf('text.format'));
  if (choice !== null && toolChoice !== null) provenance.mark(choice, 'tool_choice');
  if (choice !== null && allowedTools !== null) provenance.mark(choice, 'allowed_tools');
  provenance.reading('');
  const request: CreateResponse = {
    ...(fields as Omit<CreateResponseFields, 'input' | 'include' | 'tools' | 'tool_choice' | 'allowed_tools' | 'text'>),
    include,
    input: input?.items ?? (prewarm === null ? null : []),
    prewarm,
    endsInTrigger: input?.endsInTrigger ?? false,
    tools: tools.finish(),
    listedTools: tools.listed,
    tool_choice: choice,
    text: { format, verbosity },
  };
  return { request, passthrough };
}

/** The field that asks for a warm cache and no output; null where none does. */
function prewarmIn({ generate, prompt_cache_options: options }: Readonly<Record<string, unknown>>): Prewarm | null {
  if (isJsonObject(options) && options['prewarm'] === true) return 'prompt_cache_options.prewarm';
  return generate === false ? 'generate' : null;
}

/** The names in an object of known fields; throws `ApiError` for more of them than `maxFields`. */
function namesOf(object: Readonly<Record<string, unknown>>, param: string | null): string[] {
  const names = Object.keys(object);
  if (names.length <= maxFields) return names;
  const where = param === null ? 'the request body' : `'${param}'`;
  throw ApiError.invalidRequest(
    'object_above_max_properties',
    param,
    `Too many fields in ${where}: expected at most ${maxFields}, but got ${names.length}.`,
  );
}

/** Maximum fields of the body, or of an object with fixed keys: several times as many as the API and all known engines have. */
const maxFields = 256;

function isKnownField(name: string): name is keyof typeof createResponseFields {
  return Object.hasOwn(createResponseFields, name);
}

/** Refuses values that are well formed but not supported here: most would need state between requests. */
function checkMeaning(name: keyof CreateResponseFields, value: unknown, settings: TranslationSettings): void {
  if (value == null) return;
  switch (name) {
    case 'model':
      checkModel(value as string);
      return;
    case 'store':
      // A missing one is for the operation to judge: `check` of `operations/responses.ts`.
      if (value === true) {
        throw unsupportedValue(
          name,
          `Nothing is stored here: send "store": false, and the full conversation as 'input' each time.`,
        );
      }
      return;
    case 'previous_response_id':
      throw ApiError.invalidRequest(
        'previous_response_not_found',
        name,
        `Previous response ${quote(value)} not found: nothing is stored here. Send the full conversation as 'input'.`,
      );
    case 'background':
      if (value === true)
        throw unsupportedValue(
          name,
          `Background responses need a store, which is not available here. Use "stream": true for long answers.`,
        );
      return;
    case 'conversation':
      throw unsupportedParameter(name, `Conversations are not stored here. Send the full conversation as 'input'.`);
    case 'prompt':
      throw unsupportedParameter(
        name,
        `Stored prompts are not available here. Send their text as 'instructions' and 'input'.`,
      );
    case 'context_management':
      if (settings.contextManagement === 'accept' || (Array.isArray(value) && value.length === 0)) return;
      throw unsupportedParameter(
        name,
        `Context management is not available here. Leave 'context_management' out, and shorten 'input' yourself when it grows too long.`,
      );
    case 'moderation':
      if (settings.profile.openaiOnly) return;
      throw unsupportedParameter(
        name,
        `Moderation is not available here. Leave 'moderation' out, and call a moderation service yourself.`,
      );
    case 'guardrails':
      if (settings.profile.guardrails || (Array.isArray(value) && value.length === 0)) return;
      throw unsupportedParameter(
        name,
        `The upstream does not support guardrails, so the answer would not be checked. Leave 'guardrails' out, and check input and output yourself.`,
      );
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

/** Refuses names that no path can have as a segment: `.` and `..` mean another, half a surrogate pair cannot be written. */
function checkModel(model: string): void {
  withinLength(model, maxModelLength, 'model');
  if (model === '.' || model === '..' || /\p{Surrogate}/u.test(model)) {
    throw invalidValue(
      'model',
      `Invalid value: ${quote(model)} for 'model'. It is not a valid name of a model. Send the name that the upstream uses for the model.`,
    );
  }
}

/** Results of hosted tools: the items they belong to never occur here, so nothing is left out. */
const hostedIncludes = new Set([
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'message.input_image.image_url',
]);

/** The values as the client sent them: unknown ones are named, since a newer client may ask for more than exists here. */
function parseInclude(include: readonly unknown[], { settings: { profile }, dropped }: Reading): string[] {
  const wanted: string[] = [];
  for (const [index, value] of include.entries()) {
    const at = `include[${index}]`;
    if (typeof value !== 'string') throw invalidType(at, 'a string', value);
    wanted.push(value);
    if (value === 'reasoning.encrypted_content' || hostedIncludes.has(value)) continue;
    if (value !== 'message.output_text.logprobs') {
      dropped.push(`${at}.${value}`);
      continue;
    }
    if (profile.refusedFields.includes('logprobs')) {
      throw unsupportedValue(
        at,
        `The upstream (profile '${profile.name}') does not return log probabilities. Leave 'message.output_text.logprobs' out of 'include'.`,
      );
    }
  }
  return wanted;
}

function checkReasoning({ mode, context }: NonNullable<CreateResponseFields['reasoning']>): void {
  if (mode != null && !['auto', 'default', 'standard'].includes(mode)) {
    throw unsupportedValue(
      'reasoning.mode',
      `The upstream has no reasoning modes. Leave 'reasoning.mode' out and use 'reasoning.effort'.`,
    );
  }
  if (context != null && !['auto', 'current_turn', 'all_turns'].includes(context)) {
    throw unsupportedValue(
      'reasoning.context',
      `Invalid value: ${quote(context)} for 'reasoning.context'. Supported values are: 'auto', 'current_turn', 'all_turns'. Leave out the reasoning items that the model should not see.`,
    );
  }
}

function checkRefused(name: string, value: unknown, { profile }: TranslationSettings): void {
  // How an answer is drawn is left to the server, and named.
  if (name === 'temperature' || name === 'top_p') return;
  const field = name === 'top_logprobs' ? 'logprobs' : name;
  if (value === 0 || !(profile.refusedFields as readonly string[]).includes(field)) return;
  throw unsupportedParameter(
    name,
    `The upstream (profile '${profile.name}') does not support '${field}'. Leave '${name}' out.`,
  );
}

/** Chat's fields, and what this API has instead. */
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

/** Clients' own data that no server needs. */
const bookkeeping = new Set(['client_metadata']);

/** Fields of this API that Chat does not have, whatever the setting for unknown ones. */
const responsesOnly = new Set(['access_programs', 'image']);

/** Sampling and engine parameters that many Chat servers know: passed on even where `unknownFields` refuses or ignores others. */
const engineFields = new Set(
  `stop seed logit_bias top_k min_p typical_p repetition_penalty length_penalty min_tokens ignore_eos skip_special_tokens
  chat_template_kwargs mm_processor_kwargs guided_json guided_regex guided_choice guided_grammar guided_decoding_backend
  guided_whitespace_pattern structured_outputs priority cache_salt separate_reasoning thinking enable_thinking
  thinking_budget reasoning_format reasoning_split clear_thinking extra_body provider models route transforms plugins
  usage web_search_options search_parameters safe_prompt prompt_mode keep_alive options`.split(/\s+/),
);

function parseUnknown(
  name: string,
  value: unknown,
  passthrough: Map<string, unknown>,
  { settings, dropped, provenance }: Reading,
): void {
  if (value === null || bookkeeping.has(name)) return;
  refuseSound(name, value);
  if (responsesOnly.has(name)) {
    dropped.push(name);
    return;
  }
  if (name === 'background_options') {
    const window = isJsonObject(value) ? value['completion_window'] : undefined;
    if (window != null && window !== 'soonest')
      throw unsupportedValue(
        `${name}.completion_window`,
        `Background responses need a store, which is not available here. Send "soonest", or leave 'completion_window' out.`,
      );
    dropped.push(name);
    return;
  }
  if (name === 'multi_agent') {
    if (!isJsonObject(value) || value['enabled'] !== false) {
      throw unsupportedParameter(
        name,
        `Several agents in one request are not available here. Leave 'multi_agent' out, or send "enabled": false.`,
      );
    }
    dropped.push(name);
    return;
  }
  const replacement = chatFields.get(name);
  if (replacement !== undefined) {
    throw unsupportedParameter(
      name,
      `'${name}' belongs to the Chat Completions API. In the Responses API use ${replacement}.`,
    );
  }
  if (name === 'n')
    throw unsupportedParameter(
      name,
      `'n' belongs to the Chat Completions API: the Responses API gives one answer. Send several requests instead.`,
    );
  const isExtension = settings.profile.passExtensions && isExtensionName(name);
  if (isExtension || engineFields.has(name) || settings.unknownFields === 'forward') {
    checkRefused(name, value, settings);
    const { renames } = settings.profile;
    const written = (Object.hasOwn(renames, name) && renames[name]) || name;
    provenance.mark(passthrough, name, written);
    passthrough.set(written, value);
  } else if (settings.unknownFields === 'reject') {
    throw unknownParameter(name);
  } else dropped.push(name);
}

/** Refuses Chat's fields that ask for a spoken answer: the sound would be lost, and with it the answer. */
function refuseSound(name: string, value: unknown): void {
  if (name === 'audio')
    throw unsupportedParameter(
      name,
      `Audio output is not available: a Response has no item for audio. Leave 'audio' out.`,
    );
  if (name === 'modalities' && Array.isArray(value) && value.includes('audio')) {
    throw unsupportedValue(
      name,
      `Invalid 'modalities': audio output is not available, because a Response has no item for audio. Send ["text"], or leave 'modalities' out.`,
    );
  }
}
