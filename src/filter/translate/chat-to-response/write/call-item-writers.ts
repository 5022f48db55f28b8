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
import { type Call, emptyArguments, isCompleteJson } from './call.ts';
import { CustomInputDecoder, readCustomInput } from './custom-input.ts';
import type { ClosingStatus, OpenCall, WriterParts } from './output.ts';

type CallItem = FunctionCallItem | CustomToolCallItem | ClientToolCallItem;

/** A call, its Chat name, and what the client gets for it: the tool that the name stands for, and the ids. */
interface NamedCall {
  readonly call: Call;
  readonly name: string;
  readonly restored: RestoredTool;
  readonly ids: CallIds;
}

const cumulativeArguments =
  'The upstream repeats a call’s arguments so far in each piece. Set “cumulativeDeltas: true” in its profile.';

export function openCallItem(named: Omit<NamedCall, 'ids'>, call_id: string, parts: WriterParts): OpenCall {
  const { kind } = named.restored;
  const prefix = kind === 'function' ? 'fc' : kind === 'custom' ? 'ctc' : clientTools[kind].idPrefix;
  const identified = { ...named, ids: { id: parts.context.newId(prefix), call_id } };
  if (kind === 'function') return new FunctionCallWriter(identified, parts);
  if (kind === 'custom') return new CustomCallWriter(identified, parts);
  return new ClientToolCallWriter(identified, parts, clientTools[kind]);
}

/** Writes the item of a call from `output_item.added` to `output_item.done`. One class for each kind of tool. */
abstract class CallWriter implements OpenCall {
  protected readonly named: NamedCall;
  protected readonly parts: WriterParts;
  protected readonly place: { readonly item_id: string; readonly output_index: number };
  protected hasDelta = false;

  /** `start` is the text that the item shows from the start. */
  constructor(named: NamedCall, parts: WriterParts, start = '') {
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

  /** Do the arguments begin an object that does not end? With a brace at the end they may be all, and wrong, which the client says. */
  protected breaksOff(): boolean {
    const { call } = this.named;
    const text = call.text.toString().trim();
    if (text.startsWith('"')) return jsonOf(text) === undefined;
    return text.startsWith('{') && !text.endsWith('}') && !call.isWhole();
  }

  protected item(status: ItemStatus, text: string): CallItem {
    return buildCallItem(this.named.restored, this.named.ids, status, text);
  }

  protected send(
    type: 'response.function_call_arguments.delta' | 'response.custom_tool_call_input.delta',
    delta: string,
  ): void {
    if (delta === '') return;
    this.hasDelta = true;
    const { item_id, output_index } = this.place;
    this.parts.output.emit({ type, item_id, output_index, delta });
  }

  protected isOffered(): boolean {
    return this.parts.context.toolNames.has(this.named.name);
  }

  protected objectText(): string {
    const { text } = this.named.call;
    const given = text.toString();
    const object = this.isOffered() ? readObjectArguments(given) : given;
    if (object !== given || text.state === 'cut') this.parts.repairs.add('arguments');
    return object;
  }

  /** The arguments of a call of which no delta was sent. An empty object may stand for others that never came. */
  protected unsentText(status: ClosingStatus): string {
    const text = this.objectText();
    return status === 'incomplete' && text === emptyArguments ? '' : text;
  }
}

class FunctionCallWriter extends CallWriter {
  readonly #numbers = new WholeNumbers(() => this.parts.repairs.add('whole_number'));
  /** The first piece that is not blank decides: `null` or a text of the object is held back until it is whole, other arguments are sent. */
  #sending: 'undecided' | 'pieces' | HeldArguments = 'undecided';

  add(piece: string): void {
    let given = piece;
    if (this.#sending === 'undecided') {
      if (piece.trim() === '') return;
      given = this.named.call.text.toString();
      this.#sending = this.isOffered() && mayHideObject(given) ? new HeldArguments() : 'pieces';
    }
    if (this.#sending === 'pieces') this.send('response.function_call_arguments.delta', this.#numbers.push(given));
    else this.#sending.add(given);
  }

  override isWhole(): boolean {
    const held = this.#sending;
    return super.isWhole() || (held instanceof HeldArguments && held.isObject(() => this.objectText()));
  }

  end(status: ClosingStatus): CallItem {
    this.send('response.function_call_arguments.delta', this.#numbers.finish());
    const given = this.hasDelta ? this.objectText() : this.unsentText(status);
    const text = writtenArguments(withWholeNumbers(given), status);
    // The deltas must add up to what the done event repeats.
    if (!this.hasDelta) this.send('response.function_call_arguments.delta', text);
    const item = this.item(status, text);
    const { name } = item as FunctionCallItem;
    this.parts.output.emit({ type: 'response.function_call_arguments.done', ...this.place, name, arguments: text });
    return item;
  }
}

/** Finds the end of arguments that are `null` or a text. `isObject` is asked with each piece, and parses them once. */
class HeldArguments {
  readonly #end = new JsonEnd('string');
  #start = '';
  #isObject: boolean | null = null;

  add(piece: string): void {
    const text = piece.trim();
    if (this.#end.isWhole() && text !== '') this.#isObject = false;
    this.#start = (this.#start + text).slice(0, 5);
    this.#end.push(piece);
  }

  /** Are the arguments complete, and do they stand for an object, which is `objectText`? */
  isObject(objectText: () => string): boolean {
    if (!this.#end.isWhole() && this.#start !== 'null') return false;
    this.#isObject ??= isCompleteJson(objectText());
    return this.#isObject;
  }
}

/** A native call sends its input bare; a wrapped one sends `{"input": …}`, which is unwrapped as it arrives. */
class CustomCallWriter extends CallWriter {
  readonly #decoder = new CustomInputDecoder();
  readonly #input = new GrowingText(this.parts.held);

  add(text: string): void {
    this.#add(this.named.call.text.isInput ? text : this.#decoder.push(text));
  }

  override isWhole(): boolean {
    return super.isWhole() && (!this.#decoder.isReading() || this.#decoder.isWhole());
  }

  end(status: ClosingStatus): CallItem {
    const { text } = this.named.call;
    if (!text.isInput) this.#add(this.#decoder.isReading() ? this.#decoder.finish() : readCustomInput(text.toString()));
    const input = this.#input.toString();
    // Clients take the done event for the permission to run the call (can1357/oh-my-pi#6320).
    if (status === 'completed' || this.isWhole())
      this.parts.output.emit({ type: 'response.custom_tool_call_input.done', ...this.place, input });
    return this.item(status, input);
  }

  protected override breaksOff(): boolean {
    return this.#decoder.isReading() ? !this.#decoder.isWhole() : super.breaksOff();
  }

  #add(delta: string): void {
    if (delta !== '') this.#input.append(delta);
    this.send('response.custom_tool_call_input.delta', delta);
  }
}

/** The item holds the arguments as an object, and the API has no events for their pieces. */
class ClientToolCallWriter extends CallWriter {
  readonly #tool: ClientTool;

  constructor(named: NamedCall, parts: WriterParts, tool: ClientTool) {
    // `ToolCalls` waits for the whole of a call that is shown from the start.
    const isShown = tool.isRunnable !== undefined;
    super(named, parts, isShown ? readObjectArguments(named.call.text.toString()) : emptyArguments);
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
    const item = clientItemOf(this.#tool, this.named.ids, status, writtenArguments(this.unsentText(status), status));
    for (const event of this.#tool.eventsOf?.(item, this.place.output_index) ?? []) this.parts.output.emit(event);
    return item;
  }
}

/** The output item of a call; `text` is its arguments, or a custom tool's input itself. Shortened and flattened names are restored. */
export function buildCallItem(restored: RestoredTool, ids: CallIds, status: ItemStatus, text: string): CallItem {
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
 * Reads arguments as the object that the schema of an offered tool wants: `null` is an object of nothing, and a JSON string that holds an
 * object is that object. Others are returned as they came.
 */
function readObjectArguments(text: string): string {
  if (!mayHideObject(text)) return text;
  const value = jsonOf(text);
  if (value === null) return emptyArguments;
  return typeof value === 'string' && objectOf(jsonOf(value)) !== null ? value : text;
}

/** Are the arguments, or their beginning, a text or `null` that a server sends in place of an object? */
function mayHideObject(text: string): boolean {
  return /^\s*["n]/.test(text);
}

/** `{}` for no arguments, since clients parse them; `''` for a call that was cut, so that nobody runs it. */
export function writtenArguments(text: string, status: ItemStatus): string {
  return text === '' && status !== 'incomplete' ? emptyArguments : text;
}
