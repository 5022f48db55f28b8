import { JsonEnd } from '../../../../formats/json/json-end.ts';
import { jsonOf, objectOf } from '../../../../formats/json/loose.ts';
import { WholeNumbers, withWholeNumbers } from '../../../../formats/json/whole-numbers.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import type {
  ClientToolCallItem,
  CustomToolCallItem,
  FunctionCallItem,
  ItemStatus,
} from '../../../wire/schema/response-resource.ts';
import { type CallIds, type ClientTool, clientItemOf } from '../../client-tools/client-tool.ts';
import { clientTools } from '../../client-tools/client-tools.ts';
import type { RestoredTool } from '../../shared/context.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import type { Call } from './call.ts';
import { emptyArguments, isCompleteJson } from './call-text.ts';
import { restoredToolOf } from './called-names.ts';
import { CustomInputDecoder, customInputOf } from './custom-input.ts';
import type { ClosingStatus, OpenCall, WriterParts } from './output.ts';

type CallItem = FunctionCallItem | CustomToolCallItem | ClientToolCallItem;

/** A call, its Chat name, what that stands for on our side, and the ids it has there. */
interface NamedCall {
  readonly call: Call;
  readonly name: string;
  readonly restored: RestoredTool;
  readonly ids: CallIds;
}

const cumulativeArguments =
  'The upstream repeats a call’s arguments so far in each piece. Set “cumulativeDeltas: true” in its profile.';

/** Opens the item of a call at the end of the output, as the kind of tool that its name stands for on our side. */
export function openCallItem(call: Call, name: string, call_id: string, parts: WriterParts): OpenCall {
  const restored = restoredToolOf({ name, isCustom: call.text.isInput }, parts.context);
  const { kind } = restored;
  const named = { call, name, restored, ids: { id: parts.context.newId(callItemPrefixOf(restored)), call_id } };
  if (kind === 'function') return new FunctionCallWriter(named, parts);
  return kind === 'custom'
    ? new CustomCallWriter(named, parts)
    : new ClientToolCallWriter(named, parts, clientTools[kind]);
}

/** Writes the item of a call from `output_item.added` to `output_item.done`. One class for each kind of tool. */
abstract class CallWriter implements OpenCall {
  protected readonly named: NamedCall;
  protected readonly parts: WriterParts;
  protected readonly place: { readonly item_id: string; readonly output_index: number };

  /** `start` is the text that the item shows from the start. */
  constructor(named: NamedCall, parts: WriterParts, start: string) {
    this.named = named;
    this.parts = parts;
    const output_index = parts.output.add(this.item('in_progress', start), this);
    this.place = { item_id: named.ids.id, output_index };
  }

  abstract add(text: string): void;
  protected abstract end(status: ClosingStatus): CallItem;

  close(status: ClosingStatus): CallItem {
    const item = this.end(status);
    this.named.call.close();
    return item;
  }

  isWhole(): boolean {
    return this.named.call.isWhole();
  }

  /** The input of a native custom call can end anywhere: a following call shows that it has ended. */
  isCut(): boolean {
    return !this.named.call.text.isInput && !this.isWhole();
  }

  unrunnable(): ApiError | null {
    const { call, name } = this.named;
    if (call.text.repeatsItself()) return ApiError.ofModel('invalid_tool_call', cumulativeArguments);
    if (call.text.isInput || !this.breaksOff()) return null;
    return ApiError.ofModel('invalid_tool_call', `The model called “${name}” with incomplete arguments.`);
  }

  /** Is it an object that does not end? With a brace at its end the text may be all, and wrong: that is for the client to say. */
  protected breaksOff(): boolean {
    const { call } = this.named;
    const text = call.text.toString().trim();
    if (text.startsWith('"')) return jsonOf(text) === undefined;
    return text.startsWith('{') && !text.endsWith('}') && !call.isWhole();
  }

  protected item(status: ItemStatus, text: string): CallItem {
    return callItemOf(this.named.restored, this.named.ids, status, text);
  }

  /** Whatever was offered takes an object. */
  protected isOffered(): boolean {
    return this.parts.context.toolNames.has(this.named.name);
  }

  /** The arguments, as an object where they stand for one. */
  protected objectText(): string {
    const { text } = this.named.call;
    const given = text.toString();
    const object = this.isOffered() ? objectArgumentsOf(given) : given;
    if (object !== given || text.state === 'cut') this.parts.repairs.add('arguments');
    return object;
  }

  /** The arguments of a call of which nothing was sent. An empty object may stand for others that never came. */
  protected unsentText(status: ClosingStatus): string {
    const text = this.objectText();
    return status === 'incomplete' && text === emptyArguments ? '' : text;
  }
}

/**
 * The way of the arguments to the client. They are held back where they are `null` or a text of the object, and sent as the object once they are
 * whole; any others are sent as they come. The first piece that is not blank tells.
 */
type Sending = { readonly as: 'blank' | 'pieces' } | { readonly as: 'whole'; readonly held: HeldArguments };

class FunctionCallWriter extends CallWriter {
  readonly #numbers = new WholeNumbers(() => this.parts.repairs.add('whole_number'));
  #sending: Sending = { as: 'blank' };
  #hasDelta = false;

  constructor(named: NamedCall, parts: WriterParts) {
    super(named, parts, '');
  }

  add(piece: string): void {
    let given = piece;
    if (this.#sending.as === 'blank') {
      // As all that came before is.
      if (piece.trim() === '') return;
      given = this.named.call.text.toString();
      const isHeld = this.isOffered() && mayHideObject(given);
      this.#sending = isHeld ? { as: 'whole', held: new HeldArguments() } : { as: 'pieces' };
    }
    if (this.#sending.as === 'whole') this.#sending.held.add(given);
    else this.#send(this.#numbers.push(given));
  }

  override isWhole(): boolean {
    const sending = this.#sending;
    return super.isWhole() || (sending.as === 'whole' && sending.held.isObject(() => this.objectText()));
  }

  end(status: ClosingStatus): CallItem {
    this.#send(this.#numbers.finish());
    const given = this.#hasDelta ? this.objectText() : this.unsentText(status);
    const text = argumentsOf(withWholeNumbers(given), status);
    // The deltas must add up to what the done event repeats.
    if (!this.#hasDelta) this.#send(text);
    const item = this.item(status, text);
    const { name } = item as FunctionCallItem;
    this.parts.output.emit({
      type: 'response.function_call_arguments.done',
      ...this.place,
      name,
      arguments: text,
    });
    return item;
  }

  #send(delta: string): void {
    if (delta === '') return;
    this.#hasDelta = true;
    const { item_id, output_index } = this.place;
    this.parts.output.emit({ type: 'response.function_call_arguments.delta', item_id, output_index, delta });
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
    super(named, parts, '');
    this.#input = new GrowingText(parts.held);
  }

  add(text: string): void {
    this.#send(this.named.call.text.isInput ? text : this.#decoder.push(text));
  }

  override isWhole(): boolean {
    return super.isWhole() && (!this.#decoder.isReading() || this.#decoder.isWhole());
  }

  end(status: ClosingStatus): CallItem {
    const { text } = this.named.call;
    if (!text.isInput) this.#send(this.#decoder.isReading() ? this.#decoder.finish() : customInputOf(text.toString()));
    const input = this.#input.toString();
    // Clients take the done event for the permission to run it (can1357/oh-my-pi#6320).
    if (status === 'completed' || this.isWhole())
      this.parts.output.emit({ type: 'response.custom_tool_call_input.done', ...this.place, input });
    return this.item(status, input);
  }

  /** Whether the input may be cut: the decoder has not seen its end. */
  protected override breaksOff(): boolean {
    return this.#decoder.isReading() ? !this.#decoder.isWhole() : super.breaksOff();
  }

  #send(delta: string): void {
    if (delta === '') return;
    this.#input.append(delta);
    const { item_id, output_index } = this.place;
    this.parts.output.emit({ type: 'response.custom_tool_call_input.delta', item_id, output_index, delta });
  }
}

/** The item holds the arguments as an object, and the API has no events for their pieces. */
class ClientToolCallWriter extends CallWriter {
  readonly #tool: ClientTool;

  constructor(named: NamedCall, parts: WriterParts, tool: ClientTool) {
    // `ToolCalls` waits for the whole of a call that is shown from the start.
    super(named, parts, tool.isRunnable === undefined ? emptyArguments : objectArgumentsOf(named.call.text.toString()));
    this.#tool = tool;
  }

  add(): void {}

  override unrunnable(): ApiError | null {
    if (this.#tool.isRunnable === undefined) return super.unrunnable();
    const { name, ids } = this.named;
    if (this.#tool.isRunnable(clientItemOf(this.#tool, ids, 'completed', this.objectText()))) return null;
    return ApiError.ofModel('invalid_tool_call', `The model called “${name}” with arguments that do not fit the tool.`);
  }

  end(status: ClosingStatus): CallItem {
    const item = clientItemOf(this.#tool, this.named.ids, status, argumentsOf(this.unsentText(status), status));
    for (const event of this.#tool.eventsOf?.(item, this.place.output_index) ?? []) this.parts.output.emit(event);
    return item;
  }
}

/** The prefix of the item's id. */
export function callItemPrefixOf({ kind }: RestoredTool): string {
  return kind === 'function' ? 'fc' : kind === 'custom' ? 'ctc' : clientTools[kind].idPrefix;
}

/** The output item of a call; `text` is its arguments, or a custom tool's input itself. Shortened and flattened names are restored. */
export function callItemOf(restored: RestoredTool, ids: CallIds, status: ItemStatus, text: string): CallItem {
  if (restored.kind !== 'function' && restored.kind !== 'custom')
    return clientItemOf(clientTools[restored.kind], ids, status, text);
  const { kind, name, namespace, async: isAsync } = restored;
  const names = {
    call_id: ids.call_id,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(isAsync === true && { async: isAsync }),
  };
  return kind === 'function'
    ? { id: ids.id, type: 'function_call', status, ...names, arguments: text }
    : { id: ids.id, type: 'custom_tool_call', status, ...names, input: text };
}

/**
 * Arguments as the object that the schema of an offered tool wants: `null` is an object of nothing, and a JSON string that holds an
 * object is that object. Others are as they came.
 */
function objectArgumentsOf(text: string): string {
  if (!mayHideObject(text)) return text;
  const value = jsonOf(text);
  if (value === null) return emptyArguments;
  return typeof value === 'string' && objectOf(jsonOf(value)) !== null ? value : text;
}

/** Whether the arguments of a call, or their beginning, are a text or `null` that a server sends in place of an object. */
function mayHideObject(text: string): boolean {
  return /^\s*["n]/.test(text);
}

/** `{}` for no arguments, since clients parse them; `''` for a call that was cut, so that nobody runs it. */
export function argumentsOf(text: string, status: ItemStatus): string {
  return text === '' && status !== 'incomplete' ? emptyArguments : text;
}
