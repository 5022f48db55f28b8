import { createGrowingText, type GrowingText } from '../response/growing-text.ts';

/** What one `tool_calls` entry of a delta says. An empty string stands for a field that is absent. */
export interface CallFragment {
  readonly id: string;
  readonly index: number | null;
  readonly name: string;
  /** A piece of `function.arguments`, or of `custom.input`. */
  readonly text: string;
  readonly isCustom: boolean;
}

/** One tool call as gathered from its fragments. */
export interface TrackedCall {
  /** The upstream's id, `''` while none came. Not unique: some servers give two calls the same. */
  upstreamId: string;
  readonly index: number | null;
  name: string;
  /** Arguments (or a native custom call's input) so far. */
  readonly text: GrowingText;
  /** The end of `text` that is not in an event yet. */
  unsent: string;
  readonly isCustom: boolean;
  /** Its item is sent: name and id can no longer change. */
  isSent: boolean;
}

export interface CallTracker {
  /** The call a fragment belongs to, grown by it. */
  track(fragment: CallFragment): TrackedCall;
  /** The call that a fragment of an index and text alone belongs to (R3); null if none has begun. */
  latestOf(index: number): TrackedCall | null;
  /** What `track` does with the text of a fragment. */
  growText(call: TrackedCall, text: string): void;
  /** May the name still grow? True while it is no offered tool's name, or the beginning of another's. */
  isNameOpen(name: string): boolean;
  /** In order of appearance. */
  readonly calls: readonly TrackedCall[];
}

/**
 * Tells which call a fragment belongs to. Servers agree on little: ids are missing, empty, repeated, change with every
 * chunk or come late; `index` is missing or always 0; names are repeated or cut. The rules R1 to R4 of `docs/answers.md`
 * §3.6 are applied in order; their names are the comments below.
 */
export function createCallTracker(toolNames: ReadonlySet<string>): CallTracker {
  const calls: TrackedCall[] = [];
  const byId = new Map<string, TrackedCall>();
  const byIdAndIndex = new Map<string, TrackedCall>();
  const byIndex = new Map<number, TrackedCall>();
  const sortedNames = [...toolNames].sort();

  function track(fragment: CallFragment): TrackedCall {
    const call = find(fragment) ?? open(fragment);
    if (fragment.id !== '' && call.upstreamId === '' && !call.isSent) remember(call, fragment.id);
    growName(call, fragment.name);
    growText(call, fragment.text);
    return call;
  }

  function find(fragment: CallFragment): TrackedCall | null {
    if (fragment.id === '') return fragment.index === null ? ofLast(fragment) : ofIndex(fragment, fragment.index);
    const known = byIdAndIndex.get(`${fragment.id} ${fragment.index}`) ?? byId.get(fragment.id);
    if (known !== undefined) return isCollision(known, fragment) ? null : known; // R1
    const candidate = fragment.index === null ? calls.at(-1) : byIndex.get(fragment.index);
    if (candidate === undefined) return null;
    if (candidate.upstreamId === '' && !candidate.isSent && isNameOf(candidate, fragment.name)) return candidate; // R2a
    return fragment.name === '' ? candidate : null; // R2b, R2c
  }

  /** R1: two calls of one id. */
  function isCollision(known: TrackedCall, fragment: CallFragment): boolean {
    if (fragment.name === '') return false;
    if (isNext(known, fragment)) return true;
    if (fragment.index === null || fragment.index === known.index) return false;
    return !isNameOf(known, fragment.name) || isCompleteJson(known.text.toString());
  }

  /** R3: no id, but an index. */
  function ofIndex(fragment: CallFragment, index: number): TrackedCall | null {
    const latest = byIndex.get(index);
    return latest === undefined || isNext(latest, fragment) ? null : latest;
  }

  /** R4: neither. */
  function ofLast(fragment: CallFragment): TrackedCall | null {
    const last = calls.at(-1);
    if (last === undefined || isNext(last, fragment)) return null;
    return fragment.name !== '' && toolNames.has(last.name) && !isNameOf(last, fragment.name) ? null : last;
  }

  /** A name with arguments after complete arguments begins another call, unless it repeats them (xAI). */
  function isNext(call: TrackedCall, fragment: CallFragment): boolean {
    if (fragment.name === '' || !fragment.text.trimStart().startsWith('{')) return false;
    const written = call.text.toString();
    const isRepeated =
      fragment.name === call.name && fragment.text === written && fragment.id !== '' && fragment.index === call.index;
    return !isRepeated && !call.isCustom && isCompleteJson(written);
  }

  /** Could the fragment's name be that call's: absent, the same, or its continuation? */
  function isNameOf(call: TrackedCall, name: string): boolean {
    return name === '' || call.name === '' || name === call.name || begins(call.name + name);
  }

  function growName(call: TrackedCall, name: string): void {
    if (name === '' || call.isSent || name === call.name) return;
    if (call.name === '' || begins(call.name + name) || !toolNames.has(call.name)) call.name += name;
  }

  function growText(call: TrackedCall, text: string): void {
    if (text === '') return;
    // xAI sends the whole arguments again at the end.
    if (text.startsWith('{') && text === call.text.toString() && !call.isCustom && isCompleteJson(text)) return;
    call.text.append(text);
    call.unsent += text;
  }

  /** Is there a tool of that name, or one whose name goes on after it? */
  function begins(name: string): boolean {
    return sortedNames[firstFrom(name)]?.startsWith(name) ?? false;
  }

  /** Position of the first name that does not sort before the given one. */
  function firstFrom(name: string): number {
    let low = 0;
    let high = sortedNames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sortedNames[middle] ?? '') < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function open({ id, index, isCustom }: CallFragment): TrackedCall {
    const text = createGrowingText();
    const call: TrackedCall = { upstreamId: '', index, name: '', text, unsent: '', isCustom, isSent: false };
    calls.push(call);
    if (index !== null) byIndex.set(index, call);
    if (id !== '') remember(call, id);
    return call;
  }

  function remember(call: TrackedCall, id: string): void {
    call.upstreamId = id;
    byId.set(id, call);
    byIdAndIndex.set(`${id} ${call.index}`, call);
  }

  return {
    track,
    latestOf: (index) => byIndex.get(index) ?? null,
    growText,
    isNameOpen(name) {
      if (!toolNames.has(name)) return true;
      return sortedNames[firstFrom(name) + 1]?.startsWith(name) ?? false;
    },
    calls,
  };
}

/** Arguments are an object: the last character tells nearly always, so that a long text is seldom parsed for nothing. */
function isCompleteJson(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
