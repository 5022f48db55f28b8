import { ApiError } from '../../../wire/schema/api-error.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';
import type { CallFragment } from '../read/call-entries.ts';
import { Call } from './call.ts';
import { maxItems, tooManyItems } from './output.ts';

/** No tool's name is as long. A name that grows on would be compared with all tools at each piece. */
const maxJoinedName = 256;
const endlessName = `The upstream sent a call whose name grows beyond ${maxJoinedName} characters.`;

/**
 * Decides which call a fragment belongs to. Servers agree on little: ids are missing, empty, repeated, change with every
 * chunk or come late; `index` is missing or always 0; names are repeated or cut. The first rule that fits counts:
 *
 * - R1, a known id: the call of that id. A new call if the fragment has another index and a name, and that name differs or the
 *   arguments were complete; also if a name and arguments follow complete arguments.
 * - R2, a new id. The latest call of its index (without an index: the latest call) is meant
 *   - R2a, if it has no id yet and was not sent: it takes this one;
 *   - R2b, if the fragment has no name: it keeps its own id.
 *   - R2c: otherwise the fragment opens a call.
 * - R3, an index and no id: the latest call of that index. A new one after complete arguments, if there are a name and
 *   arguments.
 *   A piece of arguments alone cannot begin a call. Where its index is new, or the call there is whole, the newest call is meant if that
 *   lacks arguments (LibreChat#13987 sends those of index 2 under 1).
 * - R4, neither: the latest call. A new one if the fragment has a name that cannot be that call's.
 * - R5, another object after complete arguments, and no name: a new call of the same tool, with an id of its own; what follows
 *   belongs to it. `ToolCalls` finds where it begins and calls `splitOff`.
 */
export class CallTracker {
  readonly calls: Call[] = [];
  readonly #byId = new Map<string, Call>();
  readonly #byIdAndIndex = new Map<string, Call>();
  readonly #byIndex = new Map<number, Call>();
  readonly #toolNames: ReadonlySet<string>;
  readonly #held: HeldBytes;

  constructor(toolNames: ReadonlySet<string>, held: HeldBytes) {
    this.#toolNames = toolNames;
    this.#held = held;
  }

  /**
   * Returns the call that a fragment belongs to, and gives it the fragment's id and name. With `areWhole` each fragment is a call of its own.
   * Throws `ApiError` where there are too many calls, or the name grows beyond any tool's.
   */
  track(fragment: CallFragment, areWhole = false): Call {
    const call = (areWhole ? null : this.#find(fragment)) ?? this.#open(fragment, this.#findById(fragment));
    if (fragment.id !== '' && call.upstreamId === '' && !call.isSent()) this.#remember(call, fragment.id);
    this.#growName(call, fragment.name);
    return call;
  }

  /** The call that a fragment of an index and text alone belongs to (R3); null if none has begun, or it may belong to a newer one. */
  findLatest(index: number): Call | null {
    const latest = this.#byIndex.get(index) ?? null;
    const newest = this.calls.at(-1);
    return newest === latest || newest?.text.isEmpty() === false ? latest : null;
  }

  /** Opens another call of the same tool and index: what follows belongs to it, also under the id of the first (R5). */
  splitOff(call: Call): Call {
    const other = this.#open({ index: call.index, isCustom: false }, call.upstreamId === '' ? null : call);
    other.name = call.name;
    if (call.upstreamId !== '') {
      this.#byId.set(call.upstreamId, other);
      this.#byIdAndIndex.set(`${call.upstreamId} ${call.index}`, other);
    }
    return other;
  }

  /** May the name still grow? True while no offered tool has that name, or another's begins with it. */
  isNameOpen({ name, isNamed }: Call): boolean {
    return !isNamed && (!this.#toolNames.has(name) || this.#begins(name, name));
  }

  hasNameless(): boolean {
    return this.calls.some(({ name, upstreamId, text }) => name === '' && !(upstreamId === '' && text.isEmpty()));
  }

  #find(fragment: CallFragment): Call | null {
    const latest = (fragment.index === null ? this.calls.at(-1) : this.#findByIndex(fragment.index, fragment)) ?? null;
    // R3, R4
    if (fragment.id === '') return latest !== null && this.#isContinued(latest, fragment) ? latest : null;
    const known = this.#findById(fragment);
    // R1
    if (known !== null) return this.#isCollision(known, fragment) ? null : known;
    if (latest === null) return null;
    // R2a
    if (latest.upstreamId === '' && !latest.isSent() && this.#isNameOf(latest, fragment.name)) return latest;
    // R2b, R2c
    return fragment.name === '' ? latest : null;
  }

  #findByIndex(index: number, { id, name, text }: CallFragment): Call | null {
    const latest = this.#byIndex.get(index) ?? null;
    const newest = this.calls.at(-1) ?? null;
    if (newest === null || newest === latest || id !== '' || name !== '' || text === '') return latest;
    const isMeant =
      latest === null ? !newest.text.isWholeForGood() : newest.text.isEmpty() && latest.text.isWholeForGood();
    if (!isMeant) return latest;
    this.#byIndex.set(index, newest);
    return newest;
  }

  #findById({ id, index }: CallFragment): Call | null {
    return this.#byIdAndIndex.get(`${id} ${index}`) ?? this.#byId.get(id) ?? null;
  }

  #isCollision(known: Call, fragment: CallFragment): boolean {
    if (fragment.name === '') return false;
    if (beginsNext(known, fragment)) return true;
    if (fragment.index === null || fragment.index === known.index) return false;
    return known.text.isInput || !this.#isNameOf(known, fragment.name) || known.text.isWholeObject();
  }

  /** R3, and R4 for a fragment without an index: does the fragment continue that call? */
  #isContinued(latest: Call, fragment: CallFragment): boolean {
    if (beginsNext(latest, fragment)) return false;
    if (fragment.index !== null || fragment.name === '' || !this.#toolNames.has(latest.name)) return true;
    return this.#isNameOf(latest, fragment.name);
  }

  /** Can the fragment's name be that call's: absent, the same, or its continuation? */
  #isNameOf(call: Call, name: string): boolean {
    return name === '' || call.name === '' || name === call.name || this.#begins(call.name + name);
  }

  #growName(call: Call, name: string): void {
    if (name === '' || call.isSent() || call.isNamed || name === call.name) return;
    call.isNamed = call.name !== '' && !this.#begins(call.name + name) && this.#toolNames.has(call.name);
    if (call.isNamed) return;
    if (call.name.length > maxJoinedName) throw ApiError.answerTooLarge(endlessName);
    call.name += name;
    this.#held.add('name', name.length);
  }

  #begins(name: string, except?: string): boolean {
    for (const tool of this.#toolNames) if (tool.startsWith(name) && tool !== except) return true;
    return false;
  }

  #open({ index, isCustom }: Pick<CallFragment, 'index' | 'isCustom'>, earlier: Call | null): Call {
    if (this.calls.length === maxItems) throw tooManyItems();
    const call = new Call(index, isCustom, earlier, this.#held);
    this.calls.push(call);
    this.#held.add('call');
    if (index !== null) this.#byIndex.set(index, call);
    return call;
  }

  #remember(call: Call, id: string): void {
    call.upstreamId = id;
    this.#held.add('id', id.length);
    this.#byId.set(id, call);
    this.#byIdAndIndex.set(`${id} ${call.index}`, call);
  }
}

/** A name with arguments after complete arguments begins another call, unless it repeats them (xAI). */
function beginsNext(call: Call, fragment: CallFragment): boolean {
  if (fragment.name === '' || !fragment.text.trimStart().startsWith('{')) return false;
  const isSame = fragment.name === call.name && fragment.id !== '' && fragment.index === call.index;
  if (isSame && call.text.state === 'placeholder') return false;
  return !call.text.isInput && call.text.isWholeObject() && !(isSame && fragment.text === call.text.toString());
}
