import { countOf, isGiven, jsonTextOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type {
  LooseCustomCall,
  LooseExtraContent,
  LooseFunctionCall,
  LooseGoogleExtras,
  LooseMessage,
  LooseToolCall,
} from '../../../wire/schema/chat-completion.ts';
import type { ExtraContent, OpaqueFields } from '../../../wire/schema/chat-request.ts';

/** One `tool_calls` entry of a message or delta. An empty string stands for a field that is absent. */
export interface CallFragment {
  readonly id: string;
  readonly index: number | null;
  readonly name: string;
  /** `function.arguments` or `custom.input`: complete in a message, a piece in a delta. */
  readonly text: string;
  readonly isCustom: boolean;
}

/** Reads the entries of `tool_calls`, or the `function_call` of the older API, which some servers still send (docs/answers.md §1.5). */
export function readCallEntries(message: LooseMessage): readonly LooseToolCall[] {
  const entries = objectsOf<LooseToolCall>(message.tool_calls);
  if (entries.length > 0 || message.function_call == null) return entries;
  const legacy = objectOf<LooseFunctionCall>(message.function_call);
  return legacy === null ? entries : [{ function: legacy, index: 0 }];
}

/**
 * Reads one entry. Arguments are a string of JSON; Ollama's own API and some proxies give the object. Snowflake writes every field
 * of its types: a `custom` of empty strings beside the `function` that was called.
 */
export function readFragment(entry: LooseToolCall): CallFragment {
  const ofFunction = objectOf<LooseFunctionCall>(entry.function);
  const ofCustom = objectOf<LooseCustomCall>(entry.custom);
  const isBlank = textOf(ofCustom?.name) === '' && textOf(ofCustom?.input) === '';
  const custom = ofFunction !== null && isBlank ? null : ofCustom;
  const called = custom === null ? ofFunction : null;
  const text = custom === null ? called?.arguments : custom.input;
  return {
    id: textOf(entry.id),
    index: countOf(entry.index),
    // Some templates leave white space around the name (mlx-lm#1756); no tool's name has any.
    name: textOf((custom ?? called)?.name).trim(),
    text: typeof text === 'object' && text !== null ? jsonTextOf(text) : textOf(text),
    isCustom: custom !== null,
  };
}

export function isThought(delta: LooseMessage): boolean {
  if (delta.extra_content == null) return false;
  const google = objectOf<LooseExtraContent>(delta.extra_content)?.google;
  return objectOf<LooseGoogleExtras>(google)?.thought === true;
}

/** The fields of a call or a message that the server wants back where they were; null for none. */
export function readOpaqueFields(carrier: LooseToolCall): OpaqueFields | null {
  const content = readExtraContent(carrier);
  // LiteLLM writes its field into the call, or in some versions into the function, and reads both.
  const ofCall = carrier.provider_specific_fields;
  const fields = givenIn(ofCall ?? objectOf<LooseFunctionCall>(carrier.function)?.provider_specific_fields);
  const signatures = readSignatures(carrier);
  if (content === null && fields === null && signatures === null) return null;
  return {
    ...(content !== null && { extra_content: content }),
    ...(fields !== null && { provider_specific_fields: fields }),
    ...signatures,
  };
}

/** Gemini's signature beside the function goes back in the spelling in which it came (pi#9443); null for none. */
function readSignatures({ thoughtSignature, thought_signature }: LooseToolCall): OpaqueFields | null {
  if (thoughtSignature == null && thought_signature == null) return null;
  const given = Object.entries({ thoughtSignature, thought_signature }).filter(([, text]) => textOf(text) !== '');
  return given.length === 0 ? null : Object.fromEntries(given);
}

function readExtraContent(carrier: LooseToolCall): ExtraContent | null {
  const vendors = objectOf<LooseExtraContent>(carrier.extra_content);
  return givenIn(vendors && 'google' in vendors ? { ...vendors, google: withoutMark(vendors.google) } : vendors);
}

function withoutMark(value: unknown): unknown {
  const google = objectOf<LooseGoogleExtras>(value);
  if (google === null) return value;
  return Object.fromEntries(Object.entries(google).filter(([name, field]) => name !== 'thought' && isGiven(field)));
}

function givenIn(value: unknown): Readonly<Record<string, unknown>> | null {
  const given = Object.entries(objectOf(value) ?? {}).filter(([, field]) => isGiven(field));
  return given.length === 0 ? null : Object.fromEntries(given);
}

/** Joins the pieces of the fields of one call or message. What two pieces have is taken from the later one. */
export function joinOpaqueFields(pieces: readonly OpaqueFields[]): OpaqueFields {
  const [first = {}] = pieces;
  if (pieces.length < 2) return first;
  const contents = pieces.map(({ extra_content: content }) => content).filter((content) => content !== undefined);
  const fields = pieces.map(({ provider_specific_fields: given }) => given).filter((given) => given !== undefined);
  return {
    ...Object.assign({}, ...pieces),
    ...(contents.length > 0 && { extra_content: joinObjects(contents) }),
    ...(fields.length > 0 && { provider_specific_fields: joinObjects(fields) }),
  };
}

function joinObjects(objects: readonly object[]): Readonly<Record<string, unknown>> {
  const byKey = new Map<string, unknown[]>();
  for (const [key, value] of objects.flatMap((object): [string, unknown][] => Object.entries(object))) {
    const values = byKey.get(key);
    if (values === undefined) byKey.set(key, [value]);
    else values.push(value);
  }
  return Object.fromEntries(Array.from(byKey, ([key, values]) => [key, joinValues(values)]));
}

function joinValues(values: readonly unknown[]): unknown {
  const last = values.at(-1);
  if (objectOf(last) === null) return last;
  return Object.fromEntries(values.flatMap((value) => Object.entries(objectOf(value) ?? {})));
}
