import * as z from 'zod/mini';
import { isJsonObject } from '../../../formats/json/exact.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import {
  allowedList,
  integer,
  jsonObject,
  metadata,
  nestedFields,
  number,
  optionalBoolean,
  optionalList,
  optionalText,
  optionalValue,
  textOrList,
} from '../../wire/schema/create-response.ts';
import {
  invalidValue,
  quote,
  unsupportedParameter,
  unsupportedValue,
  withinLength,
  withinTextLimit,
} from './request-errors.ts';
import type { TranslationSettings } from './settings.ts';

/** Throws `ApiError` for a value that is well formed but not supported here: most would need state between requests. */
type Refusal<Value> = (value: Value, settings: TranslationSettings) => void;

/** A top-level field of a request: its shape, what becomes of it, and what is refused. `docs/mapping.md` has a row for each. */
export interface FieldRow<Shape extends z.ZodMiniType = z.ZodMiniType> {
  /**
   * - `read`: the translation reads it, and says what becomes of it;
   * - `named`: it is not sent, and is listed as dropped if it says anything;
   * - `left_out`: it is not sent, and nobody misses it;
   * - `passed_on`: it goes to the upstream as it is, whatever `UNKNOWN_FIELDS` says of others;
   * - `unknown`: `UNKNOWN_FIELDS` decides.
   */
  readonly fate: 'read' | 'named' | 'left_out' | 'passed_on' | 'unknown';
  /** Present where the translation reads the field. Without a shape, a value is checked no further than by `refuse`. */
  readonly shape?: Shape;
  /** The rule gets no `null`. Without a rule, the profile's `refusedFields` decide on a field that is read. */
  readonly refuse?: Refusal<never>;
}

/** Maximum length of a model's name. The longest in use are file paths of some 200 characters. */
export const maxModelLength = 512;

/** The top-level fields that are read, by name. A missing `store` is for the operation to judge: `operations/responses.ts`. */
const readFields = {
  model: read(optionalText, refuseModel),
  input: read(z.nullish(textOrList)),
  instructions: read(optionalText, (text, settings) => {
    withinTextLimit(text, 'instructions', settings);
  }),
  previous_response_id: read(optionalText, (id) => {
    const message = `Previous response ${quote(id)} not found: nothing is stored here. Send the full conversation as 'input'.`;
    throw ApiError.invalidRequest('previous_response_not_found', 'previous_response_id', message);
  }),
  conversation: read(
    optionalValue,
    unsupported('conversation', `Conversations are not stored here. Send the full conversation as 'input'.`),
  ),
  prompt: read(
    optionalValue,
    unsupported('prompt', `Stored prompts are not available here. Send their text as 'instructions' and 'input'.`),
  ),
  // A preference for long conversations, which some clients send with each request.
  context_management: { ...read(optionalValue), fate: 'named' },
  moderation: read(optionalValue, (_value, { profile }) => {
    if (profile.openaiOnly) return;
    const message = `Moderation is not available here. Leave 'moderation' out, and call a moderation service yourself.`;
    throw unsupportedParameter('moderation', message);
  }),
  guardrails: read(optionalValue, (value, { profile }) => {
    if (profile.guardrails || isEmptyList(value)) return;
    const message = `The upstream does not support guardrails, so the answer would not be checked. Leave 'guardrails' out, and check input and output yourself.`;
    throw unsupportedParameter('guardrails', message);
  }),
  background: read(optionalBoolean, (value) => {
    if (value) {
      const message = `Background responses need a store, which is not available here. Use "stream": true for long answers.`;
      throw unsupportedValue('background', message);
    }
  }),
  store: read(optionalBoolean, (value) => {
    if (value) {
      const message = `Nothing is stored here: send "store": false, and the full conversation as 'input' each time.`;
      throw unsupportedValue('store', message);
    }
  }),
  include: read(optionalList),
  tools: read(optionalList),
  tool_choice: read(z.nullish(z.union([z.string(), jsonObject]))),
  allowed_tools: read(z.nullish(allowedList)),
  parallel_tool_calls: read(optionalBoolean),
  max_output_tokens: read(integer(16)),
  max_tool_calls: read(integer(1)),
  // The model is asked once, which is within any limit.
  max_infer_iters: { ...read(integer(1)), fate: 'named' },
  temperature: read(number(0, 2)),
  top_p: read(number(0, 1)),
  presence_penalty: read(number(-2, 2)),
  frequency_penalty: read(number(-2, 2)),
  top_logprobs: read(integer(0, 20)),
  text: read(z.nullish(nestedFields.text)),
  reasoning: read(z.nullish(nestedFields.reasoning), refuseReasoning),
  metadata: read(z.nullish(metadata)),
  user: read(optionalText),
  safety_identifier: read(z.nullish(z.string().check(z.maxLength(128)))),
  prompt_cache_key: read(z.nullish(z.string().check(z.maxLength(64)))),
  prompt_cache_retention: read(optionalText),
  prompt_cache_options: read(z.nullish(nestedFields.prompt_cache_options)),
  generate: read(optionalBoolean),
  service_tier: read(optionalText),
  stream: read(optionalBoolean),
  stream_options: read(z.nullish(nestedFields.stream_options)),
  truncation: read(z.nullish(z.enum(['auto', 'disabled']))),
} as const satisfies Readonly<Record<string, FieldRow>>;

export type CreateResponseFields = {
  readonly [Name in keyof typeof readFields]?: z.output<(typeof readFields)[Name]['shape']>;
};

/** The top-level fields that have a rule, by name. */
export const requestFields: ReadonlyMap<string, FieldRow> = new Map<string, FieldRow>([
  ...Object.entries(readFields),
  // Codex and others keep records of their own in it, which no server needs.
  ['client_metadata', { fate: 'left_out' }],
  // Fields of this API that Chat does not have.
  ['access_programs', { fate: 'named' }],
  ['image', { fate: 'named' }],
  ['background_options', { fate: 'named', refuse: refuseBackgroundOptions }],
  ['multi_agent', { fate: 'named', refuse: refuseMultiAgent }],
  // Chat's fields, and what this API has instead.
  chatField('messages', `'input'`),
  chatField('max_tokens', `'max_output_tokens'`),
  chatField('max_completion_tokens', `'max_output_tokens'`),
  chatField('response_format', `'text.format'`),
  chatField('reasoning_effort', `'reasoning.effort'`),
  chatField('verbosity', `'text.verbosity'`),
  chatField('functions', `'tools'`),
  chatField('function_call', `'tool_choice'`),
  chatField('logprobs', `'top_logprobs', or "include": ["message.output_text.logprobs"]`),
  unsupportedField(
    'n',
    `'n' belongs to the Chat Completions API: the Responses API gives one answer. Send several requests instead.`,
  ),
  unsupportedField('audio', `Audio output is not available: a Response has no item for audio. Leave 'audio' out.`),
  ['modalities', { fate: 'unknown', refuse: refuseSpokenAnswers }],
  // Many Chat servers know these parameters of sampling and of engines, so they are sent whatever is done with unknown fields.
  ...`stop seed logit_bias top_k min_p typical_p repetition_penalty length_penalty min_tokens ignore_eos skip_special_tokens
  chat_template_kwargs mm_processor_kwargs guided_json guided_regex guided_choice guided_grammar guided_decoding_backend
  guided_whitespace_pattern structured_outputs priority cache_salt separate_reasoning thinking enable_thinking
  thinking_budget reasoning_format reasoning_split clear_thinking extra_body provider models route transforms plugins
  usage web_search_options search_parameters safe_prompt prompt_mode keep_alive options`
    .split(/\s+/)
    .map((name): [string, FieldRow] => [name, { fate: 'passed_on' }]),
]);

/** A field without a row has the fate `unknown`, and nothing is refused of it. */
export function findField(name: string): FieldRow {
  return requestFields.get(name) ?? unknownField;
}

const unknownField: FieldRow = { fate: 'unknown' };

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function read<Shape extends z.ZodMiniType>(shape: Shape, refuse?: Refusal<NonNullable<z.output<Shape>>>) {
  return { fate: 'read', shape, ...(refuse !== undefined && { refuse }) } as const;
}

function chatField(name: string, instead: string): [string, FieldRow] {
  return unsupportedField(name, `'${name}' belongs to the Chat Completions API. In the Responses API use ${instead}.`);
}

function unsupportedField(name: string, message: string): [string, FieldRow] {
  return [name, { fate: 'unknown', refuse: unsupported(name, message) }];
}

function unsupported(name: string, message: string): () => never {
  return () => {
    throw unsupportedParameter(name, message);
  };
}

/** Refuses names that no path can have as a segment: `.` and `..` mean another path, and half a surrogate pair cannot be written. */
function refuseModel(model: string): void {
  withinLength(model, maxModelLength, 'model');
  if (model === '.' || model === '..' || /\p{Surrogate}/u.test(model)) {
    const message = `Invalid value: ${quote(model)} for 'model'. It is not a valid name of a model. Send the name that the upstream uses for the model.`;
    throw invalidValue('model', message);
  }
}

function refuseReasoning({ mode, context }: NonNullable<z.output<typeof nestedFields.reasoning>>): void {
  if (mode != null && !['auto', 'default', 'standard'].includes(mode)) {
    const message = `The upstream has no reasoning modes. Leave 'reasoning.mode' out and use 'reasoning.effort'.`;
    throw unsupportedValue('reasoning.mode', message);
  }
  if (context != null && !['auto', 'current_turn', 'all_turns'].includes(context)) {
    const message = `Invalid value: ${quote(context)} for 'reasoning.context'. Supported values are: 'auto', 'current_turn', 'all_turns'. Leave out the reasoning items that the model should not see.`;
    throw unsupportedValue('reasoning.context', message);
  }
}

function refuseBackgroundOptions(options: unknown): void {
  const window = isJsonObject(options) ? options['completion_window'] : undefined;
  if (window == null || window === 'soonest') return;
  const message = `Background responses need a store, which is not available here. Send "soonest", or leave 'completion_window' out.`;
  throw unsupportedValue('background_options.completion_window', message);
}

function refuseMultiAgent(options: unknown): void {
  if (isJsonObject(options) && options['enabled'] === false) return;
  const message = `Several agents in one request are not available here. Leave 'multi_agent' out, or send "enabled": false.`;
  throw unsupportedParameter('multi_agent', message);
}

function refuseSpokenAnswers(modalities: unknown): void {
  if (!Array.isArray(modalities) || !modalities.includes('audio')) return;
  const message = `Invalid 'modalities': audio output is not available, because a Response has no item for audio. Send ["text"], or leave 'modalities' out.`;
  throw unsupportedValue('modalities', message);
}
