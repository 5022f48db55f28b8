import { createHash } from 'node:crypto';
import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { calledName, type Messages } from './message-pass.ts';

/**
 * Gives every call, and its output, an id of the form that the server or the model knows, different from the ids of all other calls. An id
 * that has the form already stays, so that the model finds its own calls as it wrote them. Other ids are made from
 * what comes before them alone: a conversation that grows keeps its beginning, byte for byte, and the server its cache.
 */
export function rewriteCallIds(messages: Messages, { callIdForm }: Profile): Messages {
  const rewrite = callIdForm === 'any' ? (id: string) => id : createRewriter(callIdForm);
  let ofTurn: ReadonlyMap<string, string> = new Map();
  return messages.map((message) => {
    if (message.tool_calls === undefined) return withOutputId(message, ofTurn);
    // Tool messages follow their calls, and no message has an id twice.
    ofTurn = new Map(message.tool_calls.map((call) => [call.id, rewrite(call.id, calledName(call))]));
    return {
      ...message,
      tool_calls: message.tool_calls.map((call) => ({ ...call, id: ofTurn.get(call.id) ?? call.id })),
    };
  });
}

function withOutputId(message: ChatMessage, ids: ReadonlyMap<string, string>): ChatMessage {
  const id = message.tool_call_id === undefined ? undefined : ids.get(message.tool_call_id);
  return id === undefined ? message : { ...message, tool_call_id: id };
}

type Rewriter = (id: string, name: string) => string;

/** A rewriter gives each call of a conversation, from the first to the last, its id in that form. */
function createRewriter(form: Exclude<Profile['callIdForm'], 'any'>): Rewriter {
  switch (form) {
    case 'alphanumeric_9':
      return hashing(/^[A-Za-z0-9]{9}$/, '', 9);
    case 'word_64':
      return hashing(/^[\w-]{1,64}$/, 'call_', 24);
    case 'any_40':
      return hashing(/^.{1,40}$/su, 'call_', 24);
    case 'functions.NAME:N':
      return counting('functions.');
    case 'NAME:N':
      return counting('');
  }
}

/** Ids that do not fit, or occur again, become `prefix` and that many characters of a hash. */
function hashing(fits: RegExp, prefix: string, length: number): Rewriter {
  const taken = new Set<string>();
  const timesOf = new Map<string, number>();
  return (given) => {
    let id = given;
    if (!fits.test(given) || taken.has(given)) {
      let times = timesOf.get(given) ?? 0;
      do id = prefix + hashText(times++ === 0 ? given : `${given}\n${times}`, length);
      while (taken.has(id));
      timesOf.set(given, times);
    }
    taken.add(id);
    return id;
  };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function hashText(text: string, length: number): string {
  const hash = createHash('sha256').update(text).digest();
  return Array.from(hash.subarray(0, length), (byte) => alphabet[byte % alphabet.length]).join('');
}

/** Ids that do not name their function, or occur again, become `prefix`, the name, and the number of calls before. */
function counting(prefix: string): Rewriter {
  const taken = new Set<string>();
  let calls = 0;
  let next = 0;
  return (given, name) => {
    const start = `${prefix}${name}:`;
    let id = given;
    if (!given.startsWith(start) || !/^\d{1,6}$/.test(given.slice(start.length)) || taken.has(given)) {
      next = Math.max(next, calls);
      for (id = start + next; taken.has(id); id = start + next) next++;
    }
    calls++;
    taken.add(id);
    return id;
  };
}
