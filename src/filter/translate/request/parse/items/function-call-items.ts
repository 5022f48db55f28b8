import { customToolCallItem, functionCallItem, toolOutputItem } from '../../../../wire/schema/create-response.ts';
import type { InputToolCall } from '../../parsed.ts';
import { missingParameter } from '../../request-errors.ts';
import { parseContent, withinTextLimit } from '../parse-content.ts';
import { readableArguments } from '../readable-arguments.ts';
import { type InputBuilder, itemType } from './input-builder.ts';

export const functionCall = itemType(functionCallItem, (call, at, input) => {
  const given = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
  withinTextLimit(given, `${at}.arguments`, input.settings);
  input.add(callOf(call, argumentsOf(given, input), at));
});

export const customToolCall = itemType(customToolCallItem, (call, at, input) => {
  input.add(callOf(call, withinTextLimit(call.input, `${at}.input`, input.settings), at, true));
});

/** The output of a call; if the client names only the tool, of its latest call without one. */
export const toolOutput = itemType(toolOutputItem, ({ call_id, name, namespace, output }, at, input) => {
  const content = parseContent(output, 'tool', `${at}.output`, input);
  const callId = call_id || input.latestUnanswered(name ?? '', namespace ?? null);
  if (callId === undefined) throw missingParameter(`${at}.call_id`);
  input.add({ kind: 'output', param: at, callId, content });
});

/** A call of the model; `input` is what it passed. */
export function callOf(
  call: {
    readonly call_id: string;
    readonly name: string;
    readonly namespace?: string | null | undefined;
    readonly async?: unknown;
  },
  input: string,
  param: string,
  takesText = false,
): InputToolCall {
  const { call_id: callId, name, namespace, async: isAsync } = call;
  return {
    kind: 'call',
    param,
    callId,
    takesText,
    name,
    namespace: namespace ?? null,
    input,
    ...(isAsync === true ? { isAsync } : {}),
  };
}

/** Arguments in a form that every server can read; wrapping them is named as dropped. */
export function argumentsOf(given: string, { settings, dropped }: InputBuilder): string {
  const { text, wrapped } = readableArguments(given, settings.limits.maxValues);
  if (wrapped) dropped.push('input[].arguments');
  return text;
}
