import { isJsonObject } from '../../../../formats/json/exact.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import { nestedFields } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { ChosenTool, CreateResponse, Prewarm, TextFormatRequest, ToolChoiceRequest } from '../../shared/parsed.ts';
import { invalidType, unknownParameter, unsupportedParameter, unsupportedValue } from '../../shared/request-errors.ts';
import { type CreateResponseFields, type FieldRow, findField } from '../../shared/request-fields.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import type { RequestReading } from './input-builder.ts';
import { type ParsedInput, parseInput } from './parse-input.ts';
import { parseFields } from './parse-shape.ts';
import { parseTextFormat } from './parse-text-format.ts';
import { parseAllowedList, parseToolChoice, withAllowedTools } from './parse-tool-choice.ts';
import { parseTools } from './parse-tools.ts';
import { ToolsBuilder } from './tools-builder.ts';

/**
 * The one place where an untrusted body becomes a typed request. Fields are parsed in the order in which the client wrote them, so that
 * the first mistake in the document is reported. Throws `ApiError` for a wrong shape, and for a value that these settings or
 * this upstream do not allow. `passthrough` are fields that go to the upstream as they are, by the upstream's names.
 */
export function parseRequest(body: unknown, reading: RequestReading) {
  const { settings, dropped, provenance, known } = reading;
  if (!isJsonObject(body)) throw invalidType(null, 'an object', body);
  const passthrough = new Map<string, unknown>();
  const parts: RequestParts = {
    fields: {},
    tools: new ToolsBuilder(reading),
    input: null,
    format: { type: 'text' },
    verbosity: null,
    include: [],
    toolChoice: null,
    allowedTools: null,
    prewarm: findPrewarm(body),
  };
  for (const name of parseNames(body, null)) {
    const value = body[name];
    provenance.reading(name);
    const row = findField(name);
    if (!('shape' in row)) {
      parseUnreadField(name, row, value, passthrough, reading);
      continue;
    }
    if (Object.hasOwn(nestedFields, name) && isJsonObject(value)) parseNames(value, name); // for its limit
    const read = parseFields(row.shape, value, name, reading);
    if (read != null) refuseMeaning(name, row, read, settings);
    if (row.fate !== 'named') takeField(name, read, parts, reading);
    else if (read != null && !(Array.isArray(read) && read.length === 0)) dropped.push(name);
  }
  const { fields, tools, input, prewarm, toolChoice, allowedTools } = parts;
  if (input !== null && input.update.effort != null) {
    const reasoning = fields['reasoning'] as CreateResponseFields['reasoning'];
    fields['reasoning'] = { ...reasoning, effort: input.update.effort };
  }
  if (input !== null && input.update.format !== null) {
    const { format: updated, formatAt } = input.update;
    provenance.reading(formatAt);
    parts.format = parseTextFormat(updated, `${formatAt}.text.format`, reading);
  }
  const { format, verbosity, include } = parts;
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

interface RequestParts {
  readonly fields: Record<string, unknown>;
  readonly tools: ToolsBuilder;
  readonly prewarm: Prewarm | null;
  input: ParsedInput | null;
  format: TextFormatRequest;
  verbosity: string | null;
  include: readonly string[];
  toolChoice: ToolChoiceRequest | null;
  allowedTools: readonly ChosenTool[] | null;
}

/** The casts are right because `read` is the output of the schema of that name, which the compiler cannot follow through a lookup. */
function takeField(name: string, read: unknown, parts: RequestParts, reading: RequestReading): void {
  switch (name) {
    case 'text': {
      const text = read as CreateResponseFields['text'];
      parts.format = parseTextFormat(text?.format, 'text.format', reading);
      parts.verbosity = text?.verbosity ?? null;
      break;
    }
    case 'include':
      parts.include = parseInclude((read as CreateResponseFields['include']) ?? [], reading);
      break;
    case 'tools':
      parseTools(
        { tools: (read as CreateResponseFields['tools']) ?? [], param: name },
        true,
        reading.known.tools,
        parts.tools,
      );
      break;
    case 'tool_choice':
      parts.toolChoice = parseToolChoice(read as CreateResponseFields['tool_choice'], reading);
      break;
    case 'allowed_tools':
      if (read != null) parts.allowedTools = parseAllowedList(read as unknown[], name, reading);
      break;
    case 'input':
      // A request that only prewarms may have an empty list as input.
      if (read != null && !(parts.prewarm !== null && Array.isArray(read) && read.length === 0))
        parts.input = parseInput(read as string | unknown[], reading);
      break;
    default:
      parts.fields[name] = read;
  }
}

function findPrewarm({ generate, prompt_cache_options: options }: Readonly<Record<string, unknown>>): Prewarm | null {
  if (isJsonObject(options) && options['prewarm'] === true) return 'prompt_cache_options.prewarm';
  return generate === false ? 'generate' : null;
}

/** The names in an object of known fields. Throws `ApiError` for more than `maxFields`. */
function parseNames(object: Readonly<Record<string, unknown>>, param: string | null): string[] {
  const names = Object.keys(object);
  if (names.length <= maxFields) return names;
  const where = param === null ? 'the request body' : `'${param}'`;
  const message = `Too many fields in ${where}: expected at most ${maxFields}, but got ${names.length}.`;
  throw ApiError.invalidRequest('object_above_max_properties', param, message);
}

/** Maximum fields of an object with fixed keys: several times as many as the API and all known engines have. */
const maxFields = 256;

/** Throws `ApiError` for a value that is well formed but not supported, by the row of the field, or else by the profile. */
function refuseMeaning(name: string, { refuse }: FieldRow, value: unknown, settings: TranslationSettings): void {
  // The rule takes what the shape of its row has read, which the compiler cannot follow through a lookup.
  if (refuse !== undefined) refuse(value as never, settings);
  else refuseByProfile(name, value, settings);
}

/** Results of hosted tools, which never occur here: nothing is lost. */
const hostedIncludes = new Set([
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'message.input_image.image_url',
]);

/** The values as the client sent them. Unknown ones are dropped and listed: a newer client may ask for more than exists here. */
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
      const message = `The upstream (profile '${profile.name}') does not return log probabilities. Leave 'message.output_text.logprobs' out of 'include'.`;
      throw unsupportedValue(at, message);
    }
  }
  return wanted;
}

function refuseByProfile(name: string, value: unknown, { profile }: TranslationSettings): void {
  // The server decides on sampling; the field is dropped and listed.
  if (name === 'temperature' || name === 'top_p') return;
  const field = name === 'top_logprobs' ? 'logprobs' : name;
  if (value === 0 || !(profile.refusedFields as readonly string[]).includes(field)) return;
  const message = `The upstream (profile '${profile.name}') does not support '${field}'. Leave '${name}' out.`;
  throw unsupportedParameter(name, message);
}

/** A field that no schema reads goes to the upstream as it is, or is dropped and listed, left out, or refused. Throws `ApiError`. */
function parseUnreadField(
  name: string,
  { fate, refuse }: FieldRow,
  value: unknown,
  passthrough: Map<string, unknown>,
  { settings, dropped, provenance }: Reading,
): void {
  if (value === null || fate === 'left_out') return;
  refuse?.(value as never, settings);
  const { passExtensions, renames } = settings.profile;
  const isPassed = fate === 'passed_on' || (passExtensions && isExtensionName(name));
  if (fate !== 'named' && (isPassed || settings.unknownFields === 'forward')) {
    refuseByProfile(name, value, settings);
    const written = (Object.hasOwn(renames, name) && renames[name]) || name;
    provenance.mark(passthrough, name, written);
    passthrough.set(written, value);
  } else if (fate !== 'named' && settings.unknownFields === 'reject') {
    throw unknownParameter(name);
  } else dropped.push(name);
}
