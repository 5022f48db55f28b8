import type { ItemStatus } from '../../schema/response-resource.ts';
import { isClientToolType } from '../client-tools.ts';
import type { ResponseContext } from '../context.ts';
import { CustomInputDecoder } from './custom-input.ts';
import type { EventLog } from './event-log.ts';
import { GrowingText } from './growing-text.ts';
import type { ClosingStatus, OpenItem, Output } from './output.ts';
import {
  argumentsOf,
  type CallItem,
  callItemOf,
  callItemPrefixOf,
  customInputOf,
  emptyArguments,
  restoredToolOf,
} from './tool-restoration.ts';

/** Writes the item of a tool call from `output_item.added` to `output_item.done`. One class for each kind of tool. */
export interface CallItemWriter extends OpenItem {
  readonly outputIndex: number;
  /** The next piece of the arguments, or of a native custom call's input. */
  add(text: string): void;
}

/** The data of a call to write. */
export interface WrittenCall {
  readonly name: string;
  /** Arguments, or a native custom call's input, read when the item is closed. */
  readonly text: { toString(): string };
  readonly isCustom: boolean;
  /** Are its arguments certainly complete? */
  readonly isWhole: () => boolean;
}

interface Parts {
  readonly log: EventLog;
  readonly output: Output;
  readonly context: ResponseContext;
}

/** Opens the item of a call at the end of the output, as the kind of tool that its name stands for on our side. */
export function openCallItem(call: WrittenCall, callId: string, parts: Parts): CallItemWriter {
  const restored = restoredToolOf(call, parts.context);
  const named = { call, id: parts.context.newId(callItemPrefixOf(restored)), callId };
  switch (restored.kind) {
    case 'function':
      return new FunctionCallWriter(named, restored.name, parts);
    case 'custom':
      return new CustomCallWriter(named, parts);
    case 'tool_search':
    case 'local_shell':
    case 'apply_patch':
      return new WholeCallWriter(named, parts);
    case 'shell':
      return new ShellCallWriter(named, parts);
  }
}

/** A call and the ids it has on our side. */
interface NamedCall {
  readonly call: WrittenCall;
  readonly id: string;
  readonly callId: string;
}

function itemOf(
  { call, id, callId }: NamedCall,
  status: ItemStatus,
  text: string,
  isCustom: boolean,
  context: ResponseContext,
): CallItem {
  return callItemOf({ id, callId, name: call.name, arguments: text, isCustom, status }, context);
}

/** The arguments of a call of which nothing was sent. An empty object may stand for others that never came. */
function unsentText({ call }: NamedCall, status: ClosingStatus): string {
  const text = call.text.toString();
  return status === 'incomplete' && text === emptyArguments ? '' : text;
}

/** The input of a native custom call can end anywhere: a following call shows that it has ended. */
function isCut({ call }: NamedCall): boolean {
  return !call.isCustom && !call.isWhole();
}

class FunctionCallWriter implements CallItemWriter {
  readonly isCall = true;
  readonly outputIndex: number;
  readonly #log: EventLog;
  readonly #id: string;
  readonly #named: NamedCall;
  readonly #name: string;
  readonly #context: ResponseContext;
  #hasDelta = false;

  constructor(named: NamedCall, name: string, { log, output, context }: Parts) {
    this.#log = log;
    this.#id = named.id;
    this.#named = named;
    this.#name = name;
    this.#context = context;
    const start = itemOf(named, 'in_progress', '', false, context);
    this.outputIndex = output.add(start.type === 'function_call' ? { ...start, arguments: '' } : start);
    output.register(this.outputIndex, this);
  }

  add(delta: string): void {
    this.#hasDelta = true;
    this.#log.emit({
      type: 'response.function_call_arguments.delta',
      item_id: this.#id,
      output_index: this.outputIndex,
      delta,
    });
  }

  isWhole(): boolean {
    return this.#named.call.isWhole();
  }

  isCut(): boolean {
    return isCut(this.#named);
  }

  close(status: ClosingStatus): CallItem {
    const text = this.#hasDelta ? this.#named.call.text.toString() : unsentText(this.#named, status);
    const whole = argumentsOf(text, status);
    // The deltas must add up to what the done event repeats.
    if (!this.#hasDelta && whole !== '') this.add(whole);
    this.#log.emit({
      type: 'response.function_call_arguments.done',
      item_id: this.#id,
      output_index: this.outputIndex,
      name: this.#name,
      arguments: whole,
    });
    return itemOf(this.#named, status, text, false, this.#context);
  }
}

/** What a custom tool's item has beside that of a function. */
const decoderBytes = 350;

/** A native call sends its input bare; a wrapped one sends `{"input": …}`, which is unwrapped as it arrives. */
class CustomCallWriter implements CallItemWriter {
  readonly isCall = true;
  readonly outputIndex: number;
  readonly #named: NamedCall;
  readonly #parts: Parts;
  readonly #decoder = new CustomInputDecoder();
  readonly #input: GrowingText;

  constructor(named: NamedCall, parts: Parts) {
    this.#named = named;
    this.#parts = parts;
    this.#input = new GrowingText(parts.output.retained);
    parts.output.retained.add(decoderBytes);
    this.outputIndex = parts.output.add(itemOf(named, 'in_progress', '', true, parts.context));
    parts.output.register(this.outputIndex, this);
  }

  add(text: string): void {
    this.#send(this.#named.call.isCustom ? text : this.#decoder.push(text));
  }

  isWhole(): boolean {
    return this.#named.call.isWhole() && (!this.#decoder.isReading() || this.#decoder.isWhole());
  }

  isCut(): boolean {
    return !this.#named.call.isCustom && !this.isWhole();
  }

  close(status: ClosingStatus): CallItem {
    const { call, id } = this.#named;
    if (!call.isCustom)
      this.#send(this.#decoder.isReading() ? this.#decoder.finish() : customInputOf(call.text.toString()));
    const input = this.#input.toString();
    // Clients take the done event for the permission to run it (can1357/oh-my-pi#6320).
    if (status === 'completed' || this.isWhole())
      this.#parts.log.emit({
        type: 'response.custom_tool_call_input.done',
        item_id: id,
        output_index: this.outputIndex,
        input,
      });
    return itemOf(this.#named, status, input, true, this.#parts.context);
  }

  #send(delta: string): void {
    if (delta === '') return;
    this.#input.append(delta);
    this.#parts.log.emit({
      type: 'response.custom_tool_call_input.delta',
      item_id: this.#named.id,
      output_index: this.outputIndex,
      delta,
    });
  }
}

/** The item holds the arguments as an object, and the API has no events for their pieces. */
class WholeCallWriter implements CallItemWriter {
  readonly isCall = true;
  readonly outputIndex: number;
  readonly #named: NamedCall;
  readonly #context: ResponseContext;

  constructor(named: NamedCall, { output, context }: Parts) {
    this.#named = named;
    this.#context = context;
    // Of a tool the client runs the item shows the call from the start: `ToolCalls` waits for the whole of it.
    const text = isClientToolType(restoredToolOf(named.call, context).kind) ? named.call.text.toString() : '';
    this.outputIndex = output.add(itemOf(named, 'in_progress', text, false, context));
    output.register(this.outputIndex, this);
  }

  add(): void {}

  isWhole(): boolean {
    return this.#named.call.isWhole();
  }

  isCut(): boolean {
    return isCut(this.#named);
  }

  close(status: ClosingStatus): CallItem {
    return itemOf(this.#named, status, unsentText(this.#named, status), false, this.#context);
  }
}

/** As above, with the events the API has for the commands of a shell call (openai-node 7.57). */
class ShellCallWriter implements CallItemWriter {
  readonly isCall = true;
  readonly outputIndex: number;
  readonly #whole: WholeCallWriter;
  readonly #log: EventLog;

  constructor(named: NamedCall, parts: Parts) {
    this.#log = parts.log;
    this.#whole = new WholeCallWriter(named, parts);
    this.outputIndex = this.#whole.outputIndex;
    parts.output.register(this.outputIndex, this);
  }

  add(): void {}

  isWhole(): boolean {
    return this.#whole.isWhole();
  }

  isCut(): boolean {
    return this.#whole.isCut();
  }

  close(status: ClosingStatus): CallItem {
    const item = this.#whole.close(status);
    if (item.type !== 'shell_call') return item;
    for (const [command_index, command] of item.action.commands.entries()) {
      const place = { output_index: this.outputIndex, command_index };
      this.#log.emit({ type: 'response.shell_call_command.added', ...place, command: '' });
      if (command !== '') this.#log.emit({ type: 'response.shell_call_command.delta', ...place, delta: command });
      this.#log.emit({ type: 'response.shell_call_command.done', ...place, command });
    }
    return item;
  }
}
