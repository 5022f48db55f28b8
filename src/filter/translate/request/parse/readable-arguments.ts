import { scanJson } from '../../../wire/json/scan.ts';
import { isJsonObject } from '../../../wire/schema/create-response.ts';

/** The key under which a model finds its earlier arguments that are not a JSON object. */
const rawKey = 'raw_arguments';

/** Arguments as an upstream can read them: always the JSON text of an object. */
export interface ReadableArguments {
  readonly text: string;
  /** Whether they had to be wrapped. */
  readonly wrapped: boolean;
}

/**
 * The arguments of an earlier call. Chat templates read them as an object: vLLM raises JSONDecodeError for anything else
 * (vllm#43995) and llama.cpp answers 500 (llama.cpp#25510), on this turn and every later one. A call that was cut at the
 * token limit has such arguments, and so has one of a model that wrote nonsense. They are wrapped, so the model still sees
 * what it wrote; no arguments at all are an empty object. An object of more than `maxValues` values is wrapped unread.
 */
export function readableArguments(text: string, maxValues: number): ReadableArguments {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null') return { text: '{}', wrapped: false };
  if (isObjectText(trimmed, maxValues)) return { text, wrapped: false };
  return { text: JSON.stringify({ [rawKey]: text }), wrapped: true };
}

function isObjectText(text: string, maxValues: number): boolean {
  if (!text.startsWith('{')) return false;
  // The limits of the body do not apply inside the text. Fewer characters cannot hold more values.
  if (text.length > maxValues && scanJson(Buffer.from(text), { maxValues }).values > maxValues) return false;
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}
