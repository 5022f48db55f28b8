import { ApiError } from '../../wire/schema/api-error.ts';
import type { ItemStatus } from '../../wire/schema/response-resource.ts';
import type { Repairs } from '../chat/repairs.ts';
import type { ClientTool } from '../client-tools/client-tool.ts';
import { clientTools } from '../client-tools/client-tools.ts';
import type { ResponseContext } from '../context.ts';
import { GrowingText } from '../kept.ts';
import { CustomInputDecoder } from './custom-input.ts';
import type { EventLog } from './event-log.ts';
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
import { WholeNumbers, withWholeNumbers } from './whole-numbers.ts';

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
  readonly repairs: Repairs;
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
    default:
      return new ClientToolCallWriter(named, clientTools[restored.kind], parts);
  }
}

/** A call and the ids it has on our side. */
interface NamedCall {
  readonly call: WrittenCall;
  readonly id: string;
  readonly callId: string;
}

/** The item with that text: arguments or, where it `isBare`, a custom tool's input itself. */
function itemOf(
  { call, id, callId }: NamedCall,
  status: ItemStatus,
  text: string,
  isBare: boolean,
  context: ResponseContext,
): CallItem {
  return callItemOf({ id, callId, name: call.name, arguments: text, isCustom: isBare, status }, context);
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
  /** Null for tools without integers. */
  readonly #numbers: WholeNumbers | null;
  #hasDelta = false;

  constructor(named: NamedCall, name: string, parts: Parts) {
    const start = itemOf(named, 'in_progress', '', false, parts.context);
    super(named, start.type === 'function_call' ? { ...start, arguments: '' } : start, parts);
    this.#name = name;
    const places = parts.context.integers.get(named.call.name);
    this.#numbers = places === undefined ? null : new WholeNumbers(places, () => parts.repairs.note('whole_number'));
  }

  add(given: string): void {
    const delta = this.#numbers === null ? given : this.#numbers.push(given);
    if (delta !== '') this.#send(delta);
  }

  #send(delta: string): void {
    this.#hasDelta = true;
    this.log.emit({
      type: 'response.function_call_arguments.delta',
      item_id: this.named.id,
      output_index: this.outputIndex,
      delta,
    });
  }

  #text(): string {
    const text = this.named.call.text.toString();
    const places = this.#numbers === null ? undefined : this.context.integers.get(this.named.call.name);
    return places === undefined ? text : withWholeNumbers(text, places);
  }

  close(status: ClosingStatus): CallItem {
    const held = this.#numbers?.finish() ?? '';
    if (held !== '') this.#send(held);
    const text = this.#hasDelta ? this.#text() : unsentText(this.named, status);
    const whole = argumentsOf(text, status);
    // The deltas must add up to what the done event repeats.
    if (!this.#hasDelta && whole !== '') this.#send(whole);
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
    this.#input = new GrowingText(parts.output.kept);
    parts.output.kept.bytes += decoderBytes;
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
class ClientToolCallWriter extends CallWriter {
  readonly #tool: ClientTool;

  constructor(named: NamedCall, tool: ClientTool, parts: Parts) {
    // `ToolCalls` waits for the whole of a call that is shown from the start.
    const text = tool.isRunnable === undefined ? '' : named.call.text.toString();
    super(named, itemOf(named, 'in_progress', text, false, parts.context), parts);
    this.#tool = tool;
  }

  add(): void {}

  override unrunnable(): ApiError | null {
    if (this.#tool.isRunnable === undefined) return super.unrunnable();
    const { name, text } = this.named.call;
    const item = this.#tool.itemOf({ id: '', call_id: '' }, 'completed', text.toString());
    if (this.#tool.isRunnable(item)) return null;
    return invalidCall(`The model called “${name}” with arguments that cannot be read.`);
  }

  close(status: ClosingStatus): CallItem {
    const { id, callId } = this.named;
    const item = this.#tool.itemOf(
      { id, call_id: callId },
      status,
      argumentsOf(unsentText(this.named, status), status),
    );
    for (const event of this.#tool.eventsOf?.(item, this.outputIndex) ?? []) this.log.emit(event);
    return item;
  }
}

/** The error for a call that the client cannot be told to run. */
export function invalidCall(message: string): ApiError {
  return new ApiError(message, { status: 502, type: 'model_error', code: 'invalid_tool_call' });
}
