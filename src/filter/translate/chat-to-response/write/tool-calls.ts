import { jsonTextOf } from '../../../../formats/json/loose.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import { clientTools } from '../../client-tools/client-tools.ts';
import { uniqueCallId } from '../../shared/chat-names.ts';
import type { ResponseContext, RestoredTool } from '../../shared/context.ts';
import { readCallEntries, readFragment, readOpaqueFields } from '../read/call-entries.ts';
import { type Call, mayBeginObject } from './call.ts';
import { openCallItem } from './call-item-writers.ts';
import { CallTracker } from './call-tracker.ts';
import type { CarriedExtra } from './envelope-contents.ts';
import type { WriterParts } from './output.ts';
import type { ReasoningInText } from './reasoning-in-text.ts';

export class ToolCalls {
  readonly #parts: WriterParts;
  readonly #thinking: ReasoningInText;
  readonly #announced = new Set<string>();
  readonly #tracker: CallTracker;
  readonly #names: CalledNames;
  /** The ids that the client gets, and the upstream's: of several calls with one id, only the first keeps it. */
  readonly #usedIds = new Set<string>();
  #gathered = new Set<Call>();
  /** Every call before this position was sent, or repeats one: sent calls are not looked at again. */
  #firstWaiting = 0;
  /** The calls came in one piece: each entry is a call, and none grows. */
  #areWhole = false;

  constructor(parts: WriterParts, thinking: ReasoningInText) {
    this.#parts = parts;
    this.#thinking = thinking;
    this.#names = new CalledNames(parts.context);
    this.#tracker = new CallTracker(parts.context.toolNames, parts.held);
  }

  /** Gathers the calls of a delta and sends none. Returns what a reasoning item must hold before they are sent. */
  gather(delta: LooseMessage): readonly CarriedExtra[] {
    const extras: CarriedExtra[] = [];
    for (const entry of readCallEntries(delta)) {
      const fragment = readFragment(entry);
      const call = this.#tracker.track(fragment, this.#areWhole);
      this.#gathered.add(call);
      this.#growTexts(call, fragment.text);
      if (this.#areWhole && (fragment.name === '' || this.#isRepeated(call))) continue;
      // Nothing after a call that is not allowed is read, since it fails the answer.
      if (this.#areWhole && !this.#isAllowed(this.#names.find(call.name))) break;
      const fields = readOpaqueFields(entry);
      if (fields === null || (!call.isSent() && !this.#mayGrow(call) && this.#isRepeated(call))) continue;
      extras.push({ fields, callId: () => this.#callIdFor(call) });
    }
    // Calls that came at once get their ids in order: of those with one id the first keeps it, whichever of them are signed.
    if (extras.length > 0) for (const call of this.#gathered) if (this.#isReady(call)) this.#callIdFor(call);
    return extras;
  }

  /** Gathers the calls of a message in one piece: each entry is a call of its own, and ends where the next begins. */
  gatherWhole(message: LooseMessage): readonly CarriedExtra[] {
    this.#areWhole = true;
    const extras = this.gather(message);
    for (const { text } of this.#tracker.calls.slice(0, -1)) if (text.isInput) text.state = 'ended';
    return extras;
  }

  send(): void {
    if (this.#gathered.size === 0) return;
    const ready = this.#gathered;
    this.#gathered = new Set();
    for (const call of ready) {
      if (this.#isReady(call)) this.#openInOrder(call);
      this.#sendText(call);
    }
  }

  /** Adds arguments to the call at that index. Returns false, and does nothing, if its item was not sent. */
  grow(index: number, text: string): boolean {
    const call = this.#tracker.findLatest(index);
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

  unrunnable(): ApiError | null {
    for (const call of this.#tracker.calls) {
      const error = call.unrunnable();
      if (error !== null) return error;
    }
    return this.nameless();
  }

  /** Returns an error when a name never came: no client can answer such a call. */
  nameless(): ApiError | null {
    if (!this.#tracker.hasNameless()) return null;
    return ApiError.ofModel('invalid_tool_call', 'The model called a tool without naming it.');
  }

  /** Adds arguments. Servers without ids write those of several calls behind one another, `{}{}`: each further object is a call (R5). */
  #growTexts(first: Call, given: string): void {
    let call = first;
    let rest = given;
    for (let next = call.text.findNextObject(rest); next !== null; next = call.text.findNextObject(rest)) {
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

  /** May the call be sent: it has a name, waits for nothing, and repeats no call before it? */
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
      const mayRepeat = earlier.earlier !== null && this.#needsMore(earlier);
      if (earlier.name !== '' && !mayRepeat && !this.#isRepeated(earlier)) this.#open(earlier);
    }
    this.#open(call);
  }

  #open(call: Call): void {
    const name = this.#names.find(call.name);
    if (!this.#isAllowed(name))
      throw ApiError.ofModel('tool_not_allowed', `The model called “${name}”, which “tool_choice” does not allow.`);
    this.#thinking.beforeCall();
    this.#announce(name);
    const named = { call, name, restored: this.#names.restore(call.name, call.text.isInput) };
    call.open(openCallItem(named, this.#callIdFor(call), this.#parts));
    // Another item that opens may close this one: all text so far is sent before.
    this.#sendText(call);
  }

  /** Before the first call of a deferred tool, sends the items of a search that found it: the Agents SDKs run no other deferred tool. */
  #announce(name: string): void {
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

  /** Does the call repeat an earlier one: the same id and name, with arguments that are the same JSON? Clients run each call that they get. */
  #isRepeated(call: Call): boolean {
    if (call.phase !== 'gathering' || !call.namesakes().some(({ text }) => call.text.isSameJson(text)))
      return call.phase === 'repeated';
    // Input that is not JSON may well be the same twice, where each entry is a call.
    if (this.#areWhole && call.text.isInput) return false;
    call.markRepeated();
    this.#parts.repairs.add('repeated_call');
    return true;
  }

  #mayGrow(call: Call): boolean {
    if (this.#areWhole) return false;
    return (call.text.isEmpty() && this.#tracker.isNameOpen(call)) || this.#needsMore(call);
  }

  /** Does the call wait for all arguments? Its item shows them from the start, or it may repeat an earlier call. */
  #needsMore(call: Call): boolean {
    const { kind } = this.#names.restore(call.name, call.text.isInput);
    const isShown = kind !== 'function' && kind !== 'custom' && clientTools[kind].isRunnable !== undefined;
    const waits = isShown || (call.namesakes().length > 0 && !call.text.isInput);
    return waits && !call.text.isWholeForGood();
  }

  /** `tool_choice` is a promise to the client, which some servers ignore: llama.cpp a name, most of them `allowed_tools`. */
  #isAllowed(name: string): boolean {
    const { allowedTools } = this.#parts.context;
    return allowedTools === null || allowedTools.has(name);
  }

  /** The upstream's id, unless it is missing or another call of this answer has it; made unique where the conversation has it. */
  #callIdFor(call: Call): string {
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

/** Finds the tools that the calls of one answer mean. Each name is looked up once, and the tools are listed once for all names. */
export class CalledNames {
  readonly #offered: Pick<ResponseContext, 'toolNames' | 'restoredTools'>;
  readonly #found = new Map<string, string>();
  /** The Chat names of tools of a namespace, by what models call them; null where several tools are called so. */
  #ofNamespaces: Map<string, string | null> | null = null;

  constructor(offered: Pick<ResponseContext, 'toolNames' | 'restoredTools'>) {
    this.#offered = offered;
  }

  /**
   * Finds the Chat name of the tool that a model means. Servers that do not read gpt-oss's Harmony format to its end leave `functions.` in
   * front of the name, or a marker behind it (`get_tide<|channel|>commentary`); small models write brackets behind it. A tool of a
   * namespace may be called by its own name, where only one tool has it. Other names are left as they are.
   */
  find(name: string): string {
    if (this.#offered.toolNames.has(name)) return name;
    const found = this.#found.get(name) ?? this.#search(name);
    this.#found.set(name, found);
    return found;
  }

  /** The tool that a call is returned as. A name that was never offered stands for itself: the client answers. */
  restore(called: string, isCustom: boolean): RestoredTool {
    const name = this.find(called);
    const restored = this.#offered.restoredTools.get(name);
    if (!isCustom) return restored ?? { kind: 'function', name };
    return restored?.kind === 'custom' ? restored : { kind: 'custom', name };
  }

  #search(name: string): string {
    const marker = name.indexOf('<|');
    const bare = marker > 0 ? name.slice(0, marker).trimEnd() : name.replace(/\(\)$/, '');
    this.#ofNamespaces ??= this.#listNamespaces();
    for (const candidate of [bare, bare.replace(/^functions\./, '')]) {
      if (this.#offered.toolNames.has(candidate)) return candidate;
      const meant = this.#ofNamespaces.get(candidate);
      if (meant != null) return meant;
    }
    return bare;
  }

  #listNamespaces(): Map<string, string | null> {
    const listed = new Map<string, string | null>();
    for (const [chatName, tool] of this.#offered.restoredTools) {
      if (!('namespace' in tool) || tool.namespace === undefined) continue;
      const { name, namespace } = tool;
      for (const called of namespace.endsWith('__') ? [name, `${namespace}${name}`] : [name])
        listed.set(called, listed.has(called) ? null : chatName);
    }
    return listed;
  }
}
