import { JsonEnd } from '../../wire/json/json-end.ts';
import { isEmptyObject, mayBeginObject, objectsIn } from '../../wire/json/objects.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { LooseMessage, LooseToolCall } from '../../wire/schema/chat-completion.ts';
import { uniqueCallId } from '../call-ids.ts';
import { type CallFragment, callEntriesOf, fragmentOf, opaqueFieldsOf } from '../chat/call-entries.ts';
import type { Repairs } from '../chat/repairs.ts';
import { clientTools } from '../client-tools/client-tools.ts';
import type { ResponseContext } from '../context.ts';
import { type CallItemWriter, invalidCall, openCallItem } from './call-item-writers.ts';
import { CallTracker, isSameCall, type TrackedCall, withoutPlaceholder } from './call-tracker.ts';
import type { CarriedExtra } from './envelope-contents.ts';
import type { EventLog } from './event-log.ts';
import { FoundTools } from './found-tools.ts';
import type { Output } from './output.ts';
import { calledNameOf, emptyArguments, restoredToolOf } from './tool-restoration.ts';

/** Dependencies of the writers of calls. */
export interface CallParts {
  readonly log: EventLog;
  readonly output: Output;
  readonly context: ResponseContext;
  readonly repairs: Repairs;
  /** Closes an open message or reasoning item: a call's item is about to be added. */
  readonly beforeCall: () => void;
}

interface Call {
  readonly tracked: TrackedCall;
  callId: string | null;
  item: CallItemWriter | null;
  /** It said once more what an earlier one of its id did. */
  isRepeated: boolean;
  /** Made when its end is first asked for; it is told all that follows. */
  scanner: JsonEnd | null;
}

/** What is kept of a call that was sent, beside what its tracker keeps: how it is written, and its scanner. */
const writtenBytes = 200;

const none: readonly CarriedExtra[] = [];

/** The tool calls of one answer, from fragments to items. */
export class ToolCalls {
  readonly #parts: CallParts;
  readonly #found: FoundTools;
  readonly #tracker: CallTracker;
  readonly #calls = new Map<TrackedCall, Call>();
  /** Calls whose item was not sent and whose turn has not come, in order. */
  readonly #waiting = new Set<Call>();
  readonly #usedIds = new Set<string>();
  #gathered = new Set<Call>();
  #hasSent = false;
  /** The call that grew last, for the next token; null after any fragment that may have opened another. */
  #growing: Call | null = null;

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.#found = new FoundTools(parts);
    this.#tracker = new CallTracker(parts.context.toolNames, parts.output.kept);
  }

  /**
   * Gathers the calls in a delta; sends nothing yet. Gives what must go back with them, which must be in a reasoning item
   * before the calls are sent.
   */
  gather(delta: LooseMessage): readonly CarriedExtra[] {
    const entries = callEntriesOf(delta);
    if (entries.length === 0) return none;
    const extras: CarriedExtra[] = [];
    for (const entry of entries) {
      const fragment = fragmentOf(entry);
      const call = this.#gatherOne(this.#tracker.track(fragment));
      this.#growTexts(call, fragment.text);
      const fields = opaqueFieldsOf(entry);
      if (fields !== null) extras.push({ fields, callId: () => this.#idOf(call) });
    }
    return extras;
  }

  /** Sends what was gathered. An error means that the model made a call that is not allowed. */
  send(): ApiError | null {
    if (this.#gathered.size === 0) return null;
    const ready = this.#gathered;
    this.#gathered = new Set();
    for (const call of ready) {
      const { name, text } = call.tracked;
      const mayGrow = text.isEmpty() && this.#tracker.isNameOpen(name);
      if (call.item === null && (name === '' || mayGrow || this.#needsMore(call) || this.#isRepeated(call))) continue;
      const error = this.#sendOne(call);
      if (error !== null) return error;
    }
    return null;
  }

  /** More arguments of the call at that index. False, and nothing is done, if its item was not sent. */
  grow(index: number, text: string): boolean {
    if (this.#growing?.tracked.index !== index) {
      const tracked = this.#tracker.latestOf(index);
      this.#growing = tracked === null ? null : (this.#calls.get(tracked) ?? null);
    }
    const growing = this.#growing;
    if (growing === null || growing.item === null || mayBeginObject(text, growing.tracked.text.last())) return false;
    this.#growText(growing, text);
    this.#sendOne(growing);
    return true;
  }

  /** The end of the answer: sends calls whose name could still have grown. */
  finish(): ApiError | null {
    for (const call of this.#calls.values()) {
      const isToSend = call.item === null && call.tracked.name !== '' && !this.#isRepeated(call);
      const error = isToSend ? this.#sendOne(call) : null;
      if (error !== null) return error;
    }
    return null;
  }

  /** An error when a call holds nothing that its client could run, or half of it. */
  unrunnable(): ApiError | null {
    return (
      firstUnrunnable(Array.from(this.#calls.values(), ({ item }) => item)) ??
      (this.nameless() > 0 ? namelessCall() : null)
    );
  }

  /** Calls seen whose name never came. */
  nameless(): number {
    return this.#tracker.nameless();
  }

  /** Is there a call whose item was sent? */
  hasSent(): boolean {
    return this.#hasSent;
  }

  #gatherOne(tracked: TrackedCall): Call {
    this.#growing = null;
    let call = this.#calls.get(tracked);
    if (call === undefined) {
      call = { tracked, callId: null, item: null, isRepeated: false, scanner: null };
      this.#calls.set(tracked, call);
      this.#waiting.add(call);
    }
    this.#gathered.add(call);
    return call;
  }

  #sendOne(call: Call): ApiError | null {
    const error = call.item === null ? this.#openInOrder(call) : null;
    if (error !== null) return error;
    this.#sendText(call);
    return null;
  }

  #sendText(call: Call): void {
    const { unsent } = call.tracked;
    if (unsent === '' || call.tracked.holdsPlaceholder) return;
    call.tracked.unsent = '';
    call.item?.add(unsent);
    this.#parts.output.closeWhole();
  }

  /**
   * Adds a fragment's arguments. Servers that send no ids run those of several calls together, `{"a":1}{"a":2}`: each further
   * object is a call of its own (R5), which the text after it goes to.
   */
  #growTexts(first: Call, given: string): void {
    let call = first;
    let rest = given;
    for (let next = this.#nextObject(call, rest); next !== null; next = this.#nextObject(call, rest)) {
      this.#growText(call, rest.slice(0, -next.length).trimEnd());
      call = this.#gatherOne(this.#tracker.splitOff(call.tracked));
      rest = next;
    }
    this.#growText(call, rest);
  }

  /** The end of that piece, from where the arguments of another call begin; null if none do. */
  #nextObject(call: Call, piece: string): string | null {
    const { isCustom, holdsPlaceholder, text } = call.tracked;
    if (isCustom || holdsPlaceholder || !mayBeginObject(piece, text.last())) return null;
    const written = text.toString();
    // xAI sends the whole arguments again at the end.
    if (piece === written) return null;
    const given = written === '' ? withoutPlaceholder(piece) : piece;
    // Only from here on, with each piece: scanning every call's characters would cost each token.
    if (written !== '') call.scanner ??= scannerOf(written);
    const end = (call.scanner?.copy() ?? new JsonEnd('object')).push(given);
    const next = end === -1 ? '' : given.slice(end).trimStart();
    return next.startsWith('{') && !isEmptyObject(written + given.slice(0, end)) ? next : null;
  }

  /** What comes after the arguments of a call that is closed is dropped: they were whole, and more would spoil them. */
  #growText(call: Call, text: string): void {
    if (call.isRepeated || (call.item !== null && !this.#parts.output.isOpen(call.item.outputIndex))) return;
    const { holdsPlaceholder } = call.tracked;
    this.#tracker.growText(call.tracked, text);
    if (holdsPlaceholder) call.scanner = null;
    else call.scanner?.push(text);
  }

  /** Calls keep the model's order: one whose name could have grown until now is sent first. */
  #openInOrder(call: Call): ApiError | null {
    for (const earlier of this.#waiting) {
      if (earlier !== call && earlier.tracked.repeats !== null && this.#needsMore(earlier)) continue;
      this.#waiting.delete(earlier);
      if (this.#isRepeated(earlier)) continue;
      const error = earlier.tracked.name === '' ? null : this.#open(earlier);
      if (error !== null || earlier === call) return error;
    }
    // It had no name when its turn came.
    return this.#open(call);
  }

  #open(call: Call): ApiError | null {
    const { tracked } = call;
    const name = this.#nameOf(tracked);
    if (!isAllowed(name, this.#parts)) return toolNotAllowed(name);
    this.#parts.beforeCall();
    this.#found.tell(name);
    tracked.isSent = true;
    tracked.unsent = tracked.text.toString();
    this.#hasSent = true;
    const { text, isCustom } = tracked;
    this.#parts.output.kept.bytes += writtenBytes;
    const written = { name, text, isCustom, isWhole: () => isWhole(call) };
    call.item = openCallItem(written, this.#idOf(call), this.#parts);
    // Before another item begins: that may close this one.
    this.#sendText(call);
    return null;
  }

  /** A call that was said twice is one: clients run what they get. */
  #isRepeated(call: Call): boolean {
    const { tracked } = call;
    if (call.isRepeated || tracked.repeats === null || !isSameCall(tracked, tracked.repeats)) return call.isRepeated;
    call.isRepeated = true;
    this.#waiting.delete(call);
    this.#parts.repairs.note('repeated_call');
    return true;
  }

  /** It waits for all of its arguments if its item shows them from the start, or they may be those of a call that it repeats. */
  #needsMore(call: Call): boolean {
    const { tracked } = call;
    const { text, isCustom, holdsPlaceholder } = tracked;
    const { kind } = restoredToolOf({ name: this.#nameOf(tracked), isCustom }, this.#parts.context);
    const isShown = kind !== 'function' && kind !== 'custom' && clientTools[kind].isRunnable !== undefined;
    const waits = isShown || (tracked.repeats?.name === tracked.name && !isCustom);
    if (!waits || holdsPlaceholder || text.isEmpty()) return waits;
    call.scanner ??= scannerOf(text.toString());
    return !call.scanner.isWhole();
  }

  /** The tracker keeps the upstream's own name, which later fragments may repeat. */
  #nameOf({ name }: TrackedCall): string {
    return calledNameOf(name, this.#parts.context);
  }

  #idOf(call: Call): string {
    if (call.callId === null) {
      call.callId = callIdFor(call.tracked.upstreamId, this.#usedIds, this.#parts.context);
      this.#usedIds.add(call.callId);
    }
    return call.callId;
  }
}

/** The tool calls of a message that came in one piece: each entry is a call of its own, and is closed before the next. */
export class WholeCalls {
  /** What must go back with the calls that are sent. It must be in a reasoning item before they are. */
  readonly extras: readonly CarriedExtra[];
  readonly #parts: CallParts;
  readonly #calls: { readonly call: CallFragment; readonly callId: string }[] = [];
  readonly #items: CallItemWriter[] = [];
  readonly #lastOfId = new Map<string, Pick<CallFragment, 'name' | 'text'>>();
  #nameless = 0;
  #error: ApiError | null = null;

  /** Nothing after a call that is not allowed is read, since it fails the answer. */
  constructor(entries: readonly LooseToolCall[], parts: CallParts) {
    this.#parts = parts;
    const extras: CarriedExtra[] = [];
    const callIds = new Set<string>();
    for (const entry of entries) {
      const fragment = fragmentOf(entry);
      if (fragment.name === '') {
        if (fragment.id !== '' || fragment.text !== '') this.#nameless += 1;
        continue;
      }
      const call = {
        ...fragment,
        name: calledNameOf(fragment.name, parts.context),
        text: fragment.isCustom ? fragment.text : withoutPlaceholder(fragment.text),
      };
      if (!isAllowed(call.name, parts)) {
        this.#error = toolNotAllowed(call.name);
        break;
      }
      const [text, ...others] = this.#newTexts(call);
      if (text === undefined) continue;
      const callId = callIdFor(call.id, callIds, parts.context);
      callIds.add(callId);
      const fields = opaqueFieldsOf(entry);
      if (fields !== null) extras.push({ fields, callId: () => callId });
      this.#calls.push({ call: { ...call, text }, callId });
      for (const other of others)
        this.#calls.push({ call: { ...call, text: other }, callId: parts.context.newId('call') });
    }
    this.extras = extras;
  }

  /** Its arguments, each of several objects in a row being a call's; without those that the call before it of the same id has. */
  #newTexts({ id, name, text, isCustom }: CallFragment): readonly string[] {
    if (isCustom) return [text];
    const texts = objectsIn(text);
    if (id === '') return texts;
    return texts.filter((one) => {
      const call = { name, text: one };
      const last = this.#lastOfId.get(id);
      this.#lastOfId.set(id, call);
      if (last === undefined || !isSameCall(last, call)) return true;
      this.#parts.repairs.note('repeated_call');
      return false;
    });
  }

  /** Sends all of them. The last stays open, and those that were cut: their status is that of the answer. */
  send(): ApiError | null {
    const found = new FoundTools(this.#parts);
    let isFirst = true;
    for (const { call, callId } of this.#calls) {
      if (isFirst) this.#parts.beforeCall();
      isFirst = false;
      found.tell(call.name);
      const item = openCallItem({ ...call, isWhole: () => isWholeText(call.text) }, callId, this.#parts);
      this.#items.push(item);
      // The item itself knows what no arguments are.
      if (call.text !== '' && (call.isCustom || call.text !== emptyArguments)) item.add(call.text);
      if (call !== this.#calls.at(-1)?.call && (call.isCustom || item.isWhole()))
        this.#parts.output.close(item.outputIndex);
    }
    return this.#error;
  }

  /** An error when a call holds nothing that its client could run, or half of it. */
  unrunnable(): ApiError | null {
    return firstUnrunnable(this.#items) ?? (this.#nameless > 0 ? namelessCall() : null);
  }

  /** Is there a call that has a name? */
  hasSent(): boolean {
    return this.#calls.length > 0;
  }

  /** Calls left out because they have no name. */
  nameless(): number {
    return this.#nameless;
  }
}

/** Is the call complete, and sent? A native custom call's input can end anywhere, so only the end of the answer ends it. */
function isWhole(call: Call): boolean {
  const { isCustom, unsent, holdsPlaceholder } = call.tracked;
  if (isCustom || (unsent !== '' && !holdsPlaceholder)) return false;
  call.scanner ??= scannerOf(call.tracked.text.toString());
  return call.scanner.isWhole();
}

function scannerOf(text: string): JsonEnd {
  const scanner = new JsonEnd('object');
  scanner.push(text);
  return scanner;
}

/** Is that an object, to its end? */
function isWholeText(text: string): boolean {
  return scannerOf(text).isWhole();
}

function isAllowed(name: string, { context: { allowedTools } }: CallParts): boolean {
  return allowedTools === null || allowedTools.has(name);
}

/**
 * `none`, `allowed_tools` or a tool named by `tool_choice` is a promise to the client. Some servers ignore it (llama.cpp a
 * name, most of them `allowed_tools`), so it is enforced here.
 */
function toolNotAllowed(name: string): ApiError {
  return new ApiError(`The model called “${name}”, which “tool_choice” does not allow.`, {
    status: 502,
    type: 'model_error',
    code: 'tool_not_allowed',
  });
}

function firstUnrunnable(items: readonly (CallItemWriter | null)[]): ApiError | null {
  for (const item of items) {
    const error = item?.unrunnable() ?? null;
    if (error !== null) return error;
  }
  return null;
}

/** The error for an answer of nothing but calls without a name, which no client can answer. */
export function namelessCall(): ApiError {
  return invalidCall('The model called a tool without naming it.');
}

/** The error for an answer that ends with a call, as the upstream says, and has neither calls nor text (vllm#53255). */
export function missingCall(): ApiError {
  return invalidCall('The upstream ended the answer with a tool call, and sent none.');
}

/** The upstream's id, unless it is missing or another call of this answer has it; made unique where the conversation has it. */
function callIdFor(given: string, ofAnswer: ReadonlySet<string>, { earlierCallIds, newId }: ResponseContext): string {
  if (given === '' || ofAnswer.has(given)) return newId('call');
  if (!earlierCallIds.has(given)) return given;
  return uniqueCallId(given, (id) => earlierCallIds.has(id) || ofAnswer.has(id)) ?? newId('call');
}
