import type { ApiError } from '../../schema/api-error.ts';
import { countOf, jsonTextOf, type Loose, objectOf, textOf } from '../../schema/chat-completion.ts';
import { signatureOf, toolNotAllowed } from '../chat/call-entries.ts';
import { type CallFragment, createCallTracker, type TrackedCall } from '../chat/call-tracker.ts';
import type { ResponseContext } from '../context.ts';
import { type OpenCall, openCall } from './call-item-writers.ts';
import type { EventLog } from './event-log.ts';
import type { Output } from './output.ts';

/** A Gemini thought signature and the call it came with. */
export interface CallSignature {
  readonly signature: string;
  /** Fixes the call's `call_id`, minting it if none came. */
  readonly callId: () => string;
}

export interface ToolCalls {
  /**
   * Gathers what a delta says about calls; sends nothing yet. Gives the signatures in it, which must be in a reasoning
   * item before the calls are sent.
   */
  gather(delta: Loose): readonly CallSignature[];
  /** Sends what was gathered. An error means: the model called what it was not allowed to. */
  send(): ApiError | null;
  /** More arguments of the call at that index. False, and nothing is done, if its item is not sent. */
  grow(index: number, text: string): boolean;
  /** The end of the answer: calls whose name could still have grown are sent as they are. */
  finish(): ApiError | null;
  /** Calls seen whose name never came. */
  nameless(): number;
  /** Is there a call whose item is sent? */
  hasSent(): boolean;
}

interface Parts {
  readonly log: EventLog;
  readonly output: Output;
  readonly context: ResponseContext;
  /** Closes an open message or reasoning item: a call's item is about to be added. */
  readonly beforeCall: () => void;
}

interface Call {
  readonly tracked: TrackedCall;
  callId: string | null;
  item: OpenCall | null;
}

const none: readonly CallSignature[] = [];

/** The tool calls of one answer, from fragments to items. */
export function createToolCalls({ log, output, context, beforeCall }: Parts): ToolCalls {
  const tracker = createCallTracker(context.toolNames);
  const calls = new Map<TrackedCall, Call>();
  /** Calls whose item is not sent and whose turn has not come, in order. */
  const waiting = new Set<Call>();
  const usedIds = new Set<string>();
  let gathered = new Set<Call>();
  let hasSent = false;
  /** The call that grew last, for the next token; null after any fragment that may have opened another. */
  let growing: Call | null = null;

  function gather(delta: Loose): readonly CallSignature[] {
    const entries = delta['tool_calls'];
    if (!Array.isArray(entries)) {
      // Before `tool_calls` there was one call, without an id; clones of that API are still about.
      const legacy = objectOf(delta['function_call']);
      if (legacy !== null) gatherOne({ function: legacy, index: 0 });
      return none;
    }
    const signatures: CallSignature[] = [];
    for (const value of entries) {
      const entry = objectOf(value);
      if (entry === null) continue;
      const call = gatherOne(entry);
      const signature = signatureOf(entry);
      if (signature !== '') signatures.push({ signature, callId: () => idOf(call) });
    }
    return signatures;
  }

  function gatherOne(entry: Loose): Call {
    growing = null;
    const tracked = tracker.track(fragmentOf(entry));
    let call = calls.get(tracked);
    if (call === undefined) {
      call = { tracked, callId: null, item: null };
      calls.set(tracked, call);
      waiting.add(call);
    }
    gathered.add(call);
    return call;
  }

  function send(): ApiError | null {
    if (gathered.size === 0) return null;
    const ready = gathered;
    gathered = new Set();
    for (const call of ready) {
      const { name, text } = call.tracked;
      if (call.item === null && (name === '' || (text.isEmpty() && tracker.isNameOpen(name)))) continue;
      const error = sendOne(call);
      if (error !== null) return error;
    }
    return null;
  }

  function grow(index: number, text: string): boolean {
    if (growing?.tracked.index !== index) {
      const tracked = tracker.latestOf(index);
      growing = tracked === null ? null : (calls.get(tracked) ?? null);
    }
    if (growing === null || growing.item === null) return false;
    tracker.growText(growing.tracked, text);
    sendOne(growing);
    return true;
  }

  function finish(): ApiError | null {
    for (const call of calls.values()) {
      const error = call.item !== null || call.tracked.name === '' ? null : sendOne(call);
      if (error !== null) return error;
    }
    return null;
  }

  function sendOne(call: Call): ApiError | null {
    const error = call.item === null ? openInOrder(call) : null;
    if (error !== null) return error;
    const { unsent } = call.tracked;
    if (unsent !== '') call.item?.add(unsent);
    call.tracked.unsent = '';
    return null;
  }

  /** Calls keep the model's order: one whose name could have grown until now is sent first. */
  function openInOrder(call: Call): ApiError | null {
    for (const earlier of waiting) {
      waiting.delete(earlier);
      const error = earlier.tracked.name === '' ? null : open(earlier);
      if (error !== null || earlier === call) return error;
    }
    // It had no name when its turn came.
    return open(call);
  }

  function open(call: Call): ApiError | null {
    const { tracked } = call;
    if (context.allowedTools !== null && !context.allowedTools.has(tracked.name)) return toolNotAllowed(tracked.name);
    beforeCall();
    tracked.isSent = true;
    hasSent = true;
    call.item = openCall(tracked, idOf(call), { log, output, context });
    return null;
  }

  /** The upstream's id, unless it is missing or another call of this answer has it. */
  function idOf(call: Call): string {
    if (call.callId === null) {
      const given = call.tracked.upstreamId;
      call.callId = given === '' || usedIds.has(given) ? context.newId('call') : given;
      usedIds.add(call.callId);
    }
    return call.callId;
  }

  return {
    gather,
    send,
    grow,
    finish,
    nameless() {
      return tracker.calls.filter(({ name }) => name === '').length;
    },
    hasSent() {
      return hasSent;
    },
  };
}

function fragmentOf(entry: Loose): CallFragment {
  const custom = objectOf(entry['custom']);
  const body = custom ?? objectOf(entry['function']);
  const text = custom === null ? body?.['arguments'] : custom['input'];
  return {
    id: textOf(entry['id']),
    index: countOf(entry['index']),
    name: textOf(body?.['name']),
    text: typeof text === 'object' && text !== null ? jsonTextOf(text) : textOf(text),
    isCustom: custom !== null,
  };
}
