import type {
  LooseCustomCall,
  LooseExtraContent,
  LooseFunctionCall,
  LooseGoogleExtras,
  LooseMessage,
  LooseToolCall,
} from '../../schema/chat-completion.ts';
import type { ExtraContent } from '../../schema/chat-request.ts';
import { countOf, jsonTextOf, objectOf, objectsOf, textOf } from './loose.ts';

/** One `tool_calls` entry of a message or delta. An empty string stands for a field that is absent. */
export interface CallFragment {
  readonly id: string;
  readonly index: number | null;
  readonly name: string;
  /** `function.arguments` or `custom.input`: all of it in a message, a piece in a delta. */
  readonly text: string;
  readonly isCustom: boolean;
}

const none: readonly LooseToolCall[] = [];

/**
 * The entries of `tool_calls`. Where there are none, the single `function_call` of the API before it, which has neither
 * id nor index: clones of that API are still in use (docs/answers.md §1.5).
 */
export function callEntriesOf(message: LooseMessage): readonly LooseToolCall[] {
  const entries = message.tool_calls == null ? none : objectsOf<LooseToolCall>(message.tool_calls);
  if (entries.length > 0 || message.function_call == null) return entries;
  const legacy = objectOf<LooseFunctionCall>(message.function_call);
  return legacy === null ? none : [{ function: legacy, index: 0 }];
}

/** Reads one entry. Arguments are a string of JSON; Ollama's own API and some proxies give the object. */
export function fragmentOf(entry: LooseToolCall): CallFragment {
  const custom = objectOf<LooseCustomCall>(entry.custom);
  const called = custom === null ? objectOf<LooseFunctionCall>(entry.function) : null;
  const text = custom === null ? called?.arguments : custom.input;
  return {
    id: textOf(entry.id),
    index: countOf(entry.index),
    name: textOf((custom ?? called)?.name),
    text: typeof text === 'object' && text !== null ? jsonTextOf(text) : textOf(text),
    isCustom: custom !== null,
  };
}

/** Gemini's mark on a delta whose text is thinking. */
export function isThought(delta: LooseMessage): boolean {
  if (delta.extra_content == null) return false;
  const google = objectOf<LooseExtraContent>(delta.extra_content)?.google;
  return objectOf<LooseGoogleExtras>(google)?.thought === true;
}

/**
 * What the server wants back with a call or a message: its `extra_content`, whatever is in it, without Gemini's mark on
 * thinking and without what is empty. Gemini's OpenAI endpoint puts the thought signature there; some proxies put it on the
 * call as Gemini's own API names it. Null if there is nothing.
 */
export function extraContentOf(
  carrier: Pick<LooseToolCall, 'extra_content' | 'thoughtSignature'>,
): ExtraContent | null {
  if (carrier.extra_content == null) {
    const signature = textOf(carrier.thoughtSignature);
    return signature === '' ? null : { google: { thought_signature: signature } };
  }
  const vendors = Object.entries(objectOf<LooseExtraContent>(carrier.extra_content) ?? {}).flatMap(
    ([vendor, value]: [string, unknown]) => {
      const kept = vendor === 'google' ? withoutMark(value) : value;
      return isGiven(kept) ? [[vendor, kept] as const] : [];
    },
  );
  return vendors.length === 0 ? null : Object.fromEntries(vendors);
}

function withoutMark(value: unknown): unknown {
  const google = objectOf<LooseGoogleExtras>(value);
  if (google === null) return value;
  return Object.fromEntries(Object.entries(google).filter(([name, field]) => name !== 'thought' && isGiven(field)));
}

function isGiven(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Several pieces of one call's or message's extra content: fields that a later piece repeats are the later one's. */
export function joinExtraContent(pieces: readonly ExtraContent[]): ExtraContent {
  const [first = {}] = pieces;
  if (pieces.length < 2) return first;
  const byVendor = new Map<string, unknown[]>();
  for (const piece of pieces) {
    for (const [vendor, value] of Object.entries(piece)) {
      const values = byVendor.get(vendor);
      if (values === undefined) byVendor.set(vendor, [value]);
      else values.push(value);
    }
  }
  return Object.fromEntries(Array.from(byVendor, ([vendor, values]) => [vendor, joinValues(values)]));
}

function joinValues(values: readonly unknown[]): unknown {
  const last = values.at(-1);
  if (objectOf(last) === null) return last;
  return Object.fromEntries(values.flatMap((value) => Object.entries(objectOf(value) ?? {})));
}
