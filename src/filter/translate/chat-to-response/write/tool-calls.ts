import { jsonTextOf } from '../../../../formats/json/loose.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import { clientTools } from '../../client-tools/client-tools.ts';
import { uniqueCallId } from '../../shared/chat-names.ts';
import { callEntriesOf, fragmentOf, opaqueFieldsOf } from '../read/call-entries.ts';
import type { Call } from './call.ts';
import { openCallItem } from './call-item-writers.ts';
import { mayBeginObject } from './call-text.ts';
import { CallTracker } from './call-tracker.ts';
import { CalledNames, restoredToolOf } from './called-names.ts';
import type { CarriedExtra } from './envelope-contents.ts';
import type { WriterParts } from './output.ts';
import type { ReasoningInText } from './reasoning-in-text.ts';

/** The tool calls of one answer, from fragments to items. */
export class ToolCalls {
  readonly #parts: WriterParts;
  readonly #thinking: ReasoningInText;
  /** Deferred tools that the client was told of. */
  readonly #announced = new Set<string>();
  readonly #tracker: CallTracker;
  readonly #names: CalledNames;
  /** The ids of calls, and those that the server gave them: of calls with one id, only the first keeps it. */
  readonly #usedIds = new Set<string>();
  #gathered = new Set<Call>();
  /** Before it every call was sent, or repeats one: what was opened is not looked at again. */
  #firstWaiting = 0;
  /** Whether the calls came in one piece: each entry is a call, and none grows. */
  #areWhole = false;

  constructor(parts: WriterParts, thinking: ReasoningInText) {
    this.#parts = parts;
    this.#thinking = thinking;
    this.#names = new CalledNames(parts.context);
    this.#tracker = new CallTracker(parts.context.toolNames, parts.held);
  }

  /** Gathers a delta's calls and sends none. Gives what must be in a reasoning item before they are sent. */
  gather(delta: LooseMessage): readonly CarriedExtra[] {
    const extras: CarriedExtra[] = [];
    for (const entry of callEntriesOf(delta)) {
      const fragment = fragmentOf(entry);
      const call = this.#tracker.track(fragment, this.#areWhole);
      this.#gathered.add(call);
      this.#growTexts(call, fragment.text);
      if (this.#areWhole && (fragment.name === '' || this.#isRepeated(call))) continue;
      // Nothing after a call that is not allowed is read, since it fails the answer.
      if (this.#areWhole && !this.#isAllowed(this.#names.of(call.name))) break;
      const fields = opaqueFieldsOf(entry);
      if (fields === null || (!call.isSent() && !this.#mayGrow(call) && this.#isRepeated(call))) continue;
      extras.push({ fields, callId: () => this.#idOf(call) });
    }
    // Calls that came at once get their ids in order: of those with one id the first keeps it, whichever of them are signed.
    if (extras.length > 0) for (const call of this.#gathered) if (this.#isReady(call)) this.#idOf(call);
    return extras;
  }

  /** Gathers the calls of a message in one piece: each entry is a call of its own, and ends where the next begins. */
  gatherWhole(message: LooseMessage): readonly CarriedExtra[] {
    this.#areWhole = true;
    const extras = this.gather(message);
    for (const { text } of this.#tracker.calls.slice(0, -1)) if (text.isInput) text.state = 'ended';
    return extras;
  }

  /** Sends what was gathered. Throws `ApiError` for a call that is not allowed. */
  send(): void {
    if (this.#gathered.size === 0) return;
    const ready = this.#gathered;
    this.#gathered = new Set();
    for (const call of ready) {
      if (this.#isReady(call)) this.#openInOrder(call);
      this.#sendText(call);
    }
  }

  /** Adds arguments to the call at that index. Returns false, and nothing is done, if its item was not sent. */
  grow(index: number, text: string): boolean {
    const call = this.#tracker.latestOf(index);
    if (call === null || !call.isSent() || mayBeginObject(text, call.text.last)) return false;
    call.grow(text);
    this.#sendText(call);
    return true;
  }

  /** The end of the answer: sends calls whose name could still have grown. Throws as `send` does. */
  finish(): void {
    for (const call of this.#tracker.calls)
      if (!call.isSent() && call.name !== '' && !this.#isRepeated(call)) this.#openInOrder(call);
  }

  /** An error when a call holds nothing that its client could run, or half of it. */
  unrunnable(): ApiError | null {
    for (const call of this.#tracker.calls) {
      const error = call.unrunnable();
      if (error !== null) return error;
    }
    return this.nameless();
  }

  /** An error when a name never came: no client can answer such a call. */
  nameless(): ApiError | null {
    if (!this.#tracker.hasNameless()) return null;
    return ApiError.ofModel('invalid_tool_call', 'The model called a tool without naming it.');
  }

  /** Adds arguments. Servers without ids run those of calls together, `{}{}`: each further object is a call (R5). */
  #growTexts(first: Call, given: string): void {
    let call = first;
    let rest = given;
    for (let next = call.text.nextObject(rest); next !== null; next = call.text.nextObject(rest)) {
      call.grow(rest.slice(0, -next.length).trimEnd());
      call = this.#tracker.splitOff(call);
      this.#gathered.add(call);
      rest = next;
    }
    call.grow(rest);
  }

  #sendText(call: Call): void {
    if (call.send()) this.#parts.output.closeWhole();
  }

  /** Has its turn come: with a name, nothing that it waits for, and no call before it that it repeats? */
  #isReady(call: Call): boolean {
    return !call.isSent() && call.name !== '' && !this.#mayGrow(call) && !this.#isRepeated(call);
  }

  /** Calls keep the model's order: one whose name could have grown until now is sent first. */
  #openInOrder(call: Call): void {
    const { calls } = this.#tracker;
    for (let at = this.#firstWaiting; at < calls.length; at += 1) {
      const earlier = calls[at] as Call;
      if (earlier.phase !== 'gathering') {
        if (at === this.#firstWaiting) this.#firstWaiting += 1;
        continue;
      }
      if (earlier === call) break;
      const mayRepeat = earlier.repeats !== null && this.#needsMore(earlier);
      if (earlier.name !== '' && !mayRepeat && !this.#isRepeated(earlier)) this.#open(earlier);
    }
    this.#open(call);
  }

  #open(call: Call): void {
    const name = this.#names.of(call.name);
    if (!this.#isAllowed(name))
      throw ApiError.ofModel('tool_not_allowed', `The model called “${name}”, which “tool_choice” does not allow.`);
    this.#thinking.beforeCall();
    this.#tellFound(name);
    call.open(openCallItem(call, name, this.#idOf(call), this.#parts));
    // Before another item begins: that may close this one.
    this.#sendText(call);
  }

  /**
   * Tells the client of a tool that was deferred what OpenAI's servers tell of a search, before the first call of it: the
   * Agents SDKs run no tool that no search has found. Here all were offered from the start.
   */
  #tellFound(name: string): void {
    const { newId, foundTools } = this.#parts.context;
    const tool = foundTools.get(name);
    if (tool === undefined || this.#announced.has(name)) return;
    this.#announced.add(name);
    const ran = { call_id: null, execution: 'server' } as const;
    const paths = [(tool as { readonly name?: unknown }).name];
    const { length } = jsonTextOf(tool);
    const call = { id: newId('tsc'), type: 'tool_search_call', ...ran, arguments: { paths } } as const;
    const output = { id: newId('tso'), type: 'tool_search_output', ...ran, tools: [tool] } as const;
    for (const item of [call, output])
      this.#parts.output.addWhole({ ...item, status: 'in_progress' }, { ...item, status: 'completed' }, 2 * length);
  }

  /** A call that was said twice is one: clients run what they get. */
  #isRepeated(call: Call): boolean {
    if (call.phase !== 'gathering' || !call.repeatsOne()) return call.phase === 'repeated';
    // Input that is not JSON may well be the same twice, where each entry is a call.
    if (this.#areWhole && call.text.isInput) return false;
    call.recognize();
    this.#parts.repairs.add('repeated_call');
    return true;
  }

  /** Whether the call waits for the rest of its name or its arguments. */
  #mayGrow(call: Call): boolean {
    if (this.#areWhole) return false;
    return (call.text.isEmpty() && this.#tracker.isNameOpen(call.name)) || this.#needsMore(call);
  }

  /** Whether the call waits for all arguments: its item shows them from the start, or it may repeat an earlier call. */
  #needsMore(call: Call): boolean {
    const { isInput: isCustom } = call.text;
    const { kind } = restoredToolOf({ name: this.#names.of(call.name), isCustom }, this.#parts.context);
    const isShown = kind !== 'function' && kind !== 'custom' && clientTools[kind].isRunnable !== undefined;
    const waits = isShown || (call.mayRepeatOne() && !isCustom);
    return waits && !call.text.isWholeForGood();
  }

  /** A promise to the client that some servers ignore: llama.cpp a name, most of them `allowed_tools`. */
  #isAllowed(name: string): boolean {
    const { allowedTools } = this.#parts.context;
    return allowedTools === null || allowedTools.has(name);
  }

  /** The upstream's id, unless it is missing or another call of this answer has it; made unique where the conversation has it. */
  #idOf(call: Call): string {
    if (call.callId === null) {
      const { earlierCallIds, newId } = this.#parts.context;
      const given = call.upstreamId;
      const ofAnswer = this.#usedIds;
      const own = given === '' || ofAnswer.has(given) ? null : given;
      const unique = own === null ? null : uniqueCallId(own, (id) => earlierCallIds.has(id) || ofAnswer.has(id));
      call.callId = unique ?? newId('call');
      ofAnswer.add(call.callId).add(given);
    }
    return call.callId;
  }
}
