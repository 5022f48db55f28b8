import type {
  LooseCustomCall,
  LooseExtraContent,
  LooseFunctionCall,
  LooseGoogleExtras,
  LooseMessage,
  LooseToolCall,
} from '../../schema/chat-completion.ts';
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

/** The thought signature that Gemini's OpenAI endpoint puts on a call, or on the message; some proxies put it on the
 * call as Gemini's own API names it. `''` if there is none. */
export function signatureOf(carrier: Pick<LooseToolCall, 'extra_content' | 'thoughtSignature'>): string {
  if (carrier.extra_content == null) return textOf(carrier.thoughtSignature);
  const google = objectOf<LooseExtraContent>(carrier.extra_content)?.google;
  return textOf(objectOf<LooseGoogleExtras>(google)?.thought_signature);
}
