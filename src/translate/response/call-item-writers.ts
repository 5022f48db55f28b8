import type { TrackedCall } from '../chat/call-tracker.ts';
import type { ResponseContext } from '../context.ts';
import { createCustomInputDecoder } from './custom-input.ts';
import type { EventLog } from './event-log.ts';
import { createGrowingText } from './growing-text.ts';
import type { ClosingStatus, OpenItem, Output } from './output.ts';
import {
  argumentsOf,
  type CallItem,
  callItemOf,
  callItemPrefixOf,
  customInputOf,
  restoredToolOf,
} from './tool-restoration.ts';

/** The item of a tool call that is being written. */
export interface OpenCall extends OpenItem {
  readonly outputIndex: number;
  /** The next piece of the arguments, or of a native custom call's input. */
  add(text: string): void;
}

interface Parts {
  readonly log: EventLog;
  readonly output: Output;
  readonly context: ResponseContext;
}

/** Opens the item of a call at the end of the output, as the kind of tool that its name stands for on our side. */
export function openCall(call: TrackedCall, callId: string, parts: Parts): OpenCall {
  const restored = restoredToolOf(call, parts.context);
  const id = parts.context.newId(callItemPrefixOf(restored));
  const itemOf = (status: 'in_progress' | ClosingStatus, text: string, isCustom: boolean) =>
    callItemOf({ id, callId, name: call.name, arguments: text, isCustom, status }, parts.context);

  let item: OpenCall;
  switch (restored.kind) {
    case 'function':
      item = openFunctionCall(call, restored.name, itemOf, parts);
      break;
    case 'custom':
      item = openCustomCall(call, itemOf, parts);
      break;
    case 'tool_search':
      item = openToolSearchCall(call, itemOf, parts);
      break;
  }
  parts.output.register(item.outputIndex, item);
  return item;
}

type ItemOf = (status: 'in_progress' | ClosingStatus, text: string, isCustom: boolean) => CallItem;

function openFunctionCall(call: TrackedCall, name: string, itemOf: ItemOf, { log, output }: Parts): OpenCall {
  const start = itemOf('in_progress', '', false);
  const outputIndex = output.add(start.type === 'function_call' ? { ...start, arguments: '' } : start);
  const item_id = start.id;
  return {
    outputIndex,
    add(delta) {
      log.emit({ type: 'response.function_call_arguments.delta', item_id, output_index: outputIndex, delta });
    },
    close(status) {
      log.emit({
        type: 'response.function_call_arguments.done',
        item_id,
        output_index: outputIndex,
        name,
        arguments: argumentsOf(call.text.toString()),
      });
      return itemOf(status, call.text.toString(), false);
    },
  };
}

/** A native call sends its input bare; a wrapped one sends `{"input": …}`, which is unwrapped as it arrives. */
function openCustomCall(call: TrackedCall, itemOf: ItemOf, { log, output }: Parts): OpenCall {
  const start = itemOf('in_progress', '', true);
  const outputIndex = output.add(start);
  const item_id = start.id;
  const decoder = createCustomInputDecoder();
  const input = createGrowingText();

  function send(delta: string): void {
    if (delta === '') return;
    input.append(delta);
    log.emit({ type: 'response.custom_tool_call_input.delta', item_id, output_index: outputIndex, delta });
  }

  return {
    outputIndex,
    add(text) {
      send(call.isCustom ? text : decoder.push(text));
    },
    close(status) {
      if (!call.isCustom) send(decoder.isReading() ? decoder.finish() : customInputOf(call.text.toString()));
      const whole = input.toString();
      log.emit({ type: 'response.custom_tool_call_input.done', item_id, output_index: outputIndex, input: whole });
      return itemOf(status, whole, true);
    },
  };
}

/** The arguments are an object in the item, and the API has no events for their pieces. */
function openToolSearchCall(call: TrackedCall, itemOf: ItemOf, { output }: Parts): OpenCall {
  const outputIndex = output.add(itemOf('in_progress', '', false));
  return {
    outputIndex,
    add() {},
    close: (status) => itemOf(status, call.text.toString(), false),
  };
}
