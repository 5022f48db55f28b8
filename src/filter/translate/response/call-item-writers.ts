import { ApiError } from '../../wire/schema/api-error.ts';
import type { ItemStatus } from '../../wire/schema/response-resource.ts';
import { clientTools, isClientToolType, isRunnable } from '../client-tools.ts';
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
  /**
   * An error if the client of a completed answer would be told to run an empty call, or half of one: clients do not check. The finish
   * reason says nothing of it: vLLM gives `tool_calls` where the token limit cut the call (vllm#53269).
   */
  unrunnable(): ApiError | null;
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

/** What the calls of all kinds have in common. */
abstract class CallWriter implements CallItemWriter {
  readonly isCall = true;
  readonly outputIndex: number;
  protected readonly log: EventLog;
  protected readonly named: NamedCall;
  protected readonly context: ResponseContext;

  constructor(named: NamedCall, start: CallItem, { log, output, context }: Parts) {
    this.log = log;
    this.named = named;
    this.context = context;
    this.outputIndex = output.add(start);
    output.register(this.outputIndex, this);
  }

  abstract add(text: string): void;
  abstract close(status: ClosingStatus): CallItem;

  isWhole(): boolean {
    return this.named.call.isWhole();
  }

  /** The input of a native custom call can end anywhere: a following call shows that it has ended. */
  isCut(): boolean {
    return !this.named.call.isCustom && !this.isWhole();
  }

  unrunnable(): ApiError | null {
    const { call } = this.named;
    if (call.isCustom || !this.breaksOff()) return null;
    return invalidCall(`The model called “${call.name}” with arguments that break off.`);
  }

  /** Is it an object that does not end? With a brace at its end the text may be all, and wrong: that is for the client to say. */
  protected breaksOff(): boolean {
    const text = this.named.call.text.toString();
    return text.trimStart().startsWith('{') && !text.trimEnd().endsWith('}') && !this.named.call.isWhole();
  }
}

class FunctionCallWriter extends CallWriter {
  readonly #name: string;
  #hasDelta = false;

  constructor(named: NamedCall, name: string, parts: Parts) {
    const start = itemOf(named, 'in_progress', '', false, parts.context);
    super(named, start.type === 'function_call' ? { ...start, arguments: '' } : start, parts);
    this.#name = name;
  }

  add(delta: string): void {
    this.#hasDelta = true;
    this.log.emit({
      type: 'response.function_call_arguments.delta',
      item_id: this.named.id,
      output_index: this.outputIndex,
      delta,
    });
  }

  close(status: ClosingStatus): CallItem {
    const text = this.#hasDelta ? this.named.call.text.toString() : unsentText(this.named, status);
    const whole = argumentsOf(text, status);
    // The deltas must add up to what the done event repeats.
    if (!this.#hasDelta && whole !== '') this.add(whole);
    this.log.emit({
      type: 'response.function_call_arguments.done',
      item_id: this.named.id,
      output_index: this.outputIndex,
      name: this.#name,
      arguments: whole,
    });
    return itemOf(this.named, status, text, false, this.context);
  }
}

/** What a custom tool's item has beside that of a function. */
const decoderBytes = 350;

/** A native call sends its input bare; a wrapped one sends `{"input": …}`, which is unwrapped as it arrives. */
class CustomCallWriter extends CallWriter {
  readonly #decoder = new CustomInputDecoder();
  readonly #input: GrowingText;

  constructor(named: NamedCall, parts: Parts) {
    super(named, itemOf(named, 'in_progress', '', true, parts.context), parts);
    this.#input = new GrowingText(parts.output.retained);
    parts.output.retained.add(decoderBytes);
  }

  add(text: string): void {
    this.#send(this.named.call.isCustom ? text : this.#decoder.push(text));
  }

  override isWhole(): boolean {
    return super.isWhole() && (!this.#decoder.isReading() || this.#decoder.isWhole());
  }

  close(status: ClosingStatus): CallItem {
    const { call, id } = this.named;
    if (!call.isCustom)
      this.#send(this.#decoder.isReading() ? this.#decoder.finish() : customInputOf(call.text.toString()));
    const input = this.#input.toString();
    // Clients take the done event for the permission to run it (can1357/oh-my-pi#6320).
    if (status === 'completed' || this.isWhole())
      this.log.emit({
        type: 'response.custom_tool_call_input.done',
        item_id: id,
        output_index: this.outputIndex,
        input,
      });
    return itemOf(this.named, status, input, true, this.context);
  }

  /** It is uncertain where the input ends. */
  protected override breaksOff(): boolean {
    return this.#decoder.isReading() ? !this.#decoder.isWhole() : super.breaksOff();
  }

  #send(delta: string): void {
    if (delta === '') return;
    this.#input.append(delta);
    this.log.emit({
      type: 'response.custom_tool_call_input.delta',
      item_id: this.named.id,
      output_index: this.outputIndex,
      delta,
    });
  }
}

/** The item holds the arguments as an object, and the API has no events for their pieces. */
class WholeCallWriter extends CallWriter {
  constructor(named: NamedCall, parts: Parts) {
    // Of a tool the client runs the item shows the call from the start: `ToolCalls` waits for the whole of it.
    const text = isClientToolType(restoredToolOf(named.call, parts.context).kind) ? named.call.text.toString() : '';
    super(named, itemOf(named, 'in_progress', text, false, parts.context), parts);
  }

  add(): void {}

  override unrunnable(): ApiError | null {
    const { name, text } = this.named.call;
    const { kind } = restoredToolOf(this.named.call, this.context);
    if (!isClientToolType(kind)) return super.unrunnable();
    const item = clientTools[kind].itemOf({ id: '', call_id: '' }, 'completed', text.toString());
    return isRunnable(item) ? null : invalidCall(`The model called “${name}” with arguments that cannot be read.`);
  }

  close(status: ClosingStatus): CallItem {
    return itemOf(this.named, status, unsentText(this.named, status), false, this.context);
  }
}

/** As above, with the events the API has for the commands of a shell call (openai-node 7.57). */
class ShellCallWriter extends WholeCallWriter {
  override close(status: ClosingStatus): CallItem {
    const item = super.close(status);
    if (item.type !== 'shell_call') return item;
    for (const [command_index, command] of item.action.commands.entries()) {
      const place = { output_index: this.outputIndex, command_index };
      this.log.emit({ type: 'response.shell_call_command.added', ...place, command: '' });
      if (command !== '') this.log.emit({ type: 'response.shell_call_command.delta', ...place, delta: command });
      this.log.emit({ type: 'response.shell_call_command.done', ...place, command });
    }
    return item;
  }
}

/** The error for a call that the client cannot be told to run. */
export function invalidCall(message: string): ApiError {
  return new ApiError(message, { status: 502, type: 'model_error', code: 'invalid_tool_call' });
}
