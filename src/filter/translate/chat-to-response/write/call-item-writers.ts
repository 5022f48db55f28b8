import { JsonEnd } from '../../../../formats/json/json-end.ts';
import { jsonOf } from '../../../../formats/json/loose.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import type { ItemStatus } from '../../../wire/schema/response-resource.ts';
import { type CallIds, type ClientTool, clientItemOf } from '../../client-tools/client-tool.ts';
import { clientTools } from '../../client-tools/client-tools.ts';
import type { RestoredTool } from '../../shared/context.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import { type Call, isCompleteJson } from './call.ts';
import { CustomInputDecoder } from './custom-input.ts';
import type { ClosingStatus, OpenCall, WriterParts } from './output.ts';
import {
  argumentsOf,
  type CallItem,
  callItemOf,
  callItemPrefixOf,
  customInputOf,
  emptyArguments,
  mayHideObject,
  objectArgumentsOf,
  restoredToolOf,
} from './tool-restoration.ts';
import { WholeNumbers, withWholeNumbers } from './whole-numbers.ts';

/** A call, its Chat name, what that stands for on our side, and the ids it has there. */
interface NamedCall {
  readonly call: Call;
  readonly name: string;
  readonly restored: RestoredTool;
  readonly ids: CallIds;
  readonly isOffered: boolean;
}

const cumulativeArguments =
  'The upstream repeats a call’s arguments so far in each piece. Set “cumulativeDeltas: true” in its profile.';

/** Opens the item of a call at the end of the output, as the kind of tool that its name stands for on our side. */
export function openCallItem(call: Call, name: string, call_id: string, parts: WriterParts): OpenCall {
  const restored = restoredToolOf({ name, isCustom: call.isCustom }, parts.context);
  const ids = { id: parts.context.newId(callItemPrefixOf(restored)), call_id };
  const named = { call, name, restored, ids, isOffered: parts.context.toolNames.has(name) };
  switch (restored.kind) {
    case 'function':
      return new FunctionCallWriter(named, restored.name, parts);
    case 'custom':
      return new CustomCallWriter(named, parts);
    default:
      return new ClientToolCallWriter(named, clientTools[restored.kind], parts);
  }
}

/** Writes the item of a call from `output_item.added` to `output_item.done`. One class for each kind of tool. */
abstract class CallWriter implements OpenCall {
  readonly outputIndex: number;
  protected readonly named: NamedCall;
  protected readonly log: WriterParts['log'];
  readonly #repairs: WriterParts['repairs'];

  /** `start` is the text that the item shows from the start. */
  constructor(named: NamedCall, start: string, { log, output, repairs }: WriterParts) {
    this.log = log;
    this.#repairs = repairs;
    this.named = named;
    this.outputIndex = output.add(this.item('in_progress', start), this);
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
    const { call, name } = this.named;
    if (call.repeatsItself()) return ApiError.ofModel('invalid_tool_call', cumulativeArguments);
    if (call.isCustom || !this.breaksOff()) return null;
    return ApiError.ofModel('invalid_tool_call', `The model called “${name}” with incomplete arguments.`);
  }

  /** Is it an object that does not end? With a brace at its end the text may be all, and wrong: that is for the client to say. */
  protected breaksOff(): boolean {
    const { call } = this.named;
    const text = call.text.toString();
    if (text.trimStart().startsWith('"')) return jsonOf(text) === undefined;
    return text.trimStart().startsWith('{') && !text.trimEnd().endsWith('}') && !call.isWhole();
  }

  /** The item with that text: arguments, or a custom tool's input itself. */
  protected item(status: ItemStatus, text: string): CallItem {
    return callItemOf(this.named.restored, this.named.ids, status, text);
  }

  /** The arguments of a call of which nothing was sent. An empty object may stand for others that never came. */
  protected unsentText(status: ClosingStatus): string {
    const text = this.objectText();
    return status === 'incomplete' && text === emptyArguments ? '' : text;
  }

  /** The arguments, as an object where they stand for one: whatever was offered takes an object. */
  protected objectText(): string {
    const { call, isOffered } = this.named;
    const text = call.text.toString();
    const object = isOffered ? objectArgumentsOf(text) : text;
    if (object !== text || call.hasRest) this.#repairs.add('arguments');
    return object;
  }

  protected place() {
    return { item_id: this.named.ids.id, output_index: this.outputIndex };
  }
}

class FunctionCallWriter extends CallWriter {
  readonly #name: string;
  readonly #numbers: WholeNumbers;
  #hasDelta = false;
  /**
   * Arguments that are held back, because they are `null` or a text of the object; they are sent as the object once they are
   * whole. Null for any others, undefined until the first piece tells.
   */
  #held: HeldArguments | null | undefined;

  constructor(named: NamedCall, name: string, parts: WriterParts) {
    super(named, '', parts);
    this.#name = name;
    this.#numbers = new WholeNumbers(() => parts.repairs.add('whole_number'));
  }

  add(piece: string): void {
    let given = piece;
    if (this.#held === undefined) {
      // As all that came before is.
      if (piece.trim() === '') return;
      given = this.named.call.text.toString();
      this.#held = this.named.isOffered && mayHideObject(given) ? new HeldArguments() : null;
    }
    if (this.#held !== null) {
      this.#held.add(given);
      return;
    }
    const delta = this.#numbers.push(given);
    if (delta !== '') this.#send(delta);
  }

  override isWhole(): boolean {
    return super.isWhole() || this.#held?.isObject(() => this.objectText()) === true;
  }

  #send(delta: string): void {
    this.#hasDelta = true;
    this.log.emit({
      type: 'response.function_call_arguments.delta',
      item_id: this.named.ids.id,
      output_index: this.outputIndex,
      delta,
    });
  }

  close(status: ClosingStatus): CallItem {
    const heldBack = this.#numbers.finish();
    if (heldBack !== '') this.#send(heldBack);
    const given = this.#hasDelta ? this.objectText() : this.unsentText(status);
    const text = argumentsOf(withWholeNumbers(given), status);
    // The deltas must add up to what the done event repeats.
    if (!this.#hasDelta && text !== '') this.#send(text);
    this.log.emit({
      type: 'response.function_call_arguments.done',
      ...this.place(),
      name: this.#name,
      arguments: text,
    });
    return this.item(status, text);
  }
}

/** Finds where arguments end that are no object: with each piece it is asked whether they have, and they are parsed once for it. */
class HeldArguments {
  readonly #end = new JsonEnd('string');
  /** A little more than `null`, if they begin so. */
  #start = '';
  #isObject: boolean | null = null;

  add(piece: string): void {
    const text = piece.trim();
    if (this.#end.isWhole() && text !== '') this.#isObject = false;
    this.#start = (this.#start + text).slice(0, 5);
    this.#end.push(piece);
  }

  /** Do they stand for an object, and are complete? `objectText` gives what they stand for. */
  isObject(objectText: () => string): boolean {
    if (!this.#end.isWhole() && this.#start !== 'null') return false;
    this.#isObject ??= isCompleteJson(objectText());
    return this.#isObject;
  }
}

/** A native call sends its input bare; a wrapped one sends `{"input": …}`, which is unwrapped as it arrives. */
class CustomCallWriter extends CallWriter {
  readonly #decoder = new CustomInputDecoder();
  readonly #input: GrowingText;

  constructor(named: NamedCall, parts: WriterParts) {
    super(named, '', parts);
    this.#input = new GrowingText(parts.log.held);
  }

  add(text: string): void {
    this.#send(this.named.call.isCustom ? text : this.#decoder.push(text));
  }

  override isWhole(): boolean {
    return super.isWhole() && (!this.#decoder.isReading() || this.#decoder.isWhole());
  }

  close(status: ClosingStatus): CallItem {
    const { call } = this.named;
    if (!call.isCustom)
      this.#send(this.#decoder.isReading() ? this.#decoder.finish() : customInputOf(call.text.toString()));
    const input = this.#input.toString();
    // Clients take the done event for the permission to run it (can1357/oh-my-pi#6320).
    if (status === 'completed' || this.isWhole())
      this.log.emit({ type: 'response.custom_tool_call_input.done', ...this.place(), input });
    return this.item(status, input);
  }

  /** Whether the input may be cut: the decoder has not seen its end. */
  protected override breaksOff(): boolean {
    return this.#decoder.isReading() ? !this.#decoder.isWhole() : super.breaksOff();
  }

  #send(delta: string): void {
    if (delta === '') return;
    this.#input.append(delta);
    this.log.emit({
      type: 'response.custom_tool_call_input.delta',
      item_id: this.named.ids.id,
      output_index: this.outputIndex,
      delta,
    });
  }
}

/** The item holds the arguments as an object, and the API has no events for their pieces. */
class ClientToolCallWriter extends CallWriter {
  readonly #tool: ClientTool;

  constructor(named: NamedCall, tool: ClientTool, parts: WriterParts) {
    // `ToolCalls` waits for the whole of a call that is shown from the start.
    super(named, tool.isRunnable === undefined ? emptyArguments : objectArgumentsOf(named.call.text.toString()), parts);
    this.#tool = tool;
  }

  add(): void {}

  override unrunnable(): ApiError | null {
    if (this.#tool.isRunnable === undefined) return super.unrunnable();
    const { name, ids } = this.named;
    if (this.#tool.isRunnable(clientItemOf(this.#tool, ids, 'completed', this.objectText()))) return null;
    return ApiError.ofModel('invalid_tool_call', `The model called “${name}” with arguments that do not fit the tool.`);
  }

  close(status: ClosingStatus): CallItem {
    const item = clientItemOf(this.#tool, this.named.ids, status, argumentsOf(this.unsentText(status), status));
    for (const event of this.#tool.eventsOf?.(item, this.outputIndex) ?? []) this.log.emit(event);
    return item;
  }
}
