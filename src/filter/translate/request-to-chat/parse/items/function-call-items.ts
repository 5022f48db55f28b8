import { isJsonObject } from '../../../../../formats/json/exact.ts';
import { jsonOf } from '../../../../../formats/json/loose.ts';
import { hasMoreValues } from '../../../../../formats/json/scan.ts';
import { customToolCallItem, functionCallItem, toolOutputItem } from '../../../../wire/schema/create-response.ts';
import type { Reading } from '../../../shared/dropped.ts';
import { missingParameter, withinTextLimit } from '../../../shared/request-errors.ts';
import { itemType } from '../input-builder.ts';
import { parseContent } from '../parse-content.ts';

export const functionCall = itemType(functionCallItem, (call, at, input) => {
  let given = call.arguments;
  if (typeof given !== 'string') {
    given = JSON.stringify(given);
    input.dropped.pushKey('input[]', 'arguments');
  }
  withinTextLimit(given, `${at}.arguments`, input.settings);
  input.addCall(call, parseCallArguments(given, input), at);
});

export const customToolCall = itemType(customToolCallItem, (call, at, input) => {
  input.addCall(call, withinTextLimit(call.input, `${at}.input`, input.settings), at, true);
});

/** The output of a call. A client that names only the tool means the next of its calls that has no output. */
export const toolOutput = itemType(toolOutputItem, ({ call_id, name, namespace, output }, at, input) => {
  const content = parseContent(output, 'tool', `${at}.output`, input);
  if (call_id) input.addOutput(call_id, content, at);
  else if (!input.addOutputOfTool(name ?? '', namespace ?? null, content, at)) throw missingParameter(`${at}.call_id`);
});

/** The key under which a model finds earlier arguments of its own that are not a JSON object. */
const rawKey = 'raw_arguments';

/**
 * The arguments of an earlier call as every server can read them: the JSON text of an object. Chat templates read nothing else: vLLM raises
 * JSONDecodeError (vllm#43995) and llama.cpp answers 500 (llama.cpp#25510), for this request and every later one. Arguments that were cut
 * at the token limit, that make no sense, or that have more than `maxValues` values are wrapped, so that the model still sees what it wrote,
 * and listed as dropped. No arguments at all are an empty object.
 */
export function parseCallArguments(given: string, { settings, dropped }: Reading): string {
  const trimmed = given.trim();
  if (trimmed === '' || trimmed === 'null') return '{}';
  if (isObjectText(trimmed, settings.limits.maxValues)) return given;
  dropped.push('input[].arguments');
  return JSON.stringify({ [rawKey]: given });
}

function isObjectText(text: string, maxValues: number): boolean {
  if (!text.startsWith('{')) return false;
  if (hasMoreValues(text, maxValues)) return false; // the limits of the body do not apply inside the text
  return isJsonObject(jsonOf(text));
}
