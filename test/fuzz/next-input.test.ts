import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Profile } from '../../src/filter/upstream/profile.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { ChatMessage, ChatToolCall } from '../../src/filter/wire/schema/chat-request.ts';
import type { OutputItem } from '../../src/filter/wire/schema/response-resource.ts';
import { habits, requestFields, servers, tokenSizes, turns } from '../support/arbitrary-dialogues.ts';
import { ask } from '../support/ask.ts';
import { callMark, pairsIn } from '../support/chat-pairs.ts';
import { leanCopyOf, questionOf, receive, repliesTo } from '../support/dialogue.ts';
import { fuzzTimeout, tries } from '../support/fuzz-options.ts';
import {
  type Answer,
  type Habits,
  inMessageOrder,
  Marks,
  marksIn,
  possibleHabits,
  type Saying,
  speak,
  withLeadingTags,
} from '../support/scripted-answers.ts';
import type { Item } from '../support/tool-kinds.ts';

/**
 * The second of five readings (docs/architecture.md): an answer's output is the next input, and the next request tells the server
 * what it has said, in order, for the items of the events as for those of the Response, and for copies without ids and
 * statuses; and what the server was sent before is the beginning of it, byte for byte. Different on purpose, with
 * the file of its cases:
 *
 * - Groq gets reasoning back only until the user's next words (`reasoningScope`), so a beginning may lose its own
 *   (message-passes.test.ts);
 * - where roles must take turns, a turn of nothing is left out, and the user's next words join the last; so does a picture that
 *   the model made, since pictures are the user's (request-alternation.md);
 * - of equal ids only the first comes back, and none that is too long to be made unique for the client
 *   (stream-tool-calls.md, call-ids.test.ts);
 * - a picture may divide the message of the model (request-reasoning.md);
 * - what is said behind an asynchronous call may be of a later turn: its output is then a message of the user's
 *   (request-turns.md).
 */
it('an answer is what the server has said in the next request', { timeout: fuzzTimeout }, () => {
  let told = 0;
  fc.assert(
    fc.property(
      servers,
      requestFields,
      habits,
      tokenSizes,
      fc.array(turns, { minLength: 1, maxLength: 3 }),
      (server, fields, given, sizes, plans) => {
        const marks = new Marks();
        let input: readonly Item[] = [];
        for (const [number, plan] of plans.entries()) {
          if (number === 0 || plan.goesOn || !String(input.at(-1)?.['type']).endsWith('_output'))
            input = [...input, questionOf(plan, marks)];
          const asked = ask({ input, ...fields }, server, number);
          if (asked instanceof ApiError) return;
          const { context, chat } = asked;
          const { profile } = context;
          const own = possibleHabits(given, profile);
          const isWhole = plan.form === 'json' || plan.form === 'one';
          const said = withLeadingTags(isWhole ? inMessageOrder(plan.answer) : plan.answer, own);
          const answer = speak(said, own, marks, chat, profile);
          const received = receive(answer, own, sizes, plan.form, context);
          if (received instanceof ApiError || received.response.status === 'failed') return;
          const { response, done } = received;
          // A call that was cut behind a picture has no output that would end its message.
          if (response.status === 'incomplete' && isDivided(answer.sayings)) return;
          expect(done).toEqual(response.output);
          const replies = repliesTo(response.output, plan, marks);
          input = [...input, ...(response.output as readonly unknown[] as readonly Item[]), ...replies];
          const asks = replies.length === 0 ? [{ role: 'user', content: marks.in('#') }] : [];
          const next = { ...fields, input: [...input, ...asks] };
          const then = ask(next, server, number);
          if (then instanceof ApiError) throw then;
          told += 1;
          const lean = ask({ ...next, input: next.input.map(leanCopyOf) }, server, number);
          if (lean instanceof ApiError) throw lean;
          expect(JSON.stringify(lean.chat)).toBe(JSON.stringify(then.chat));
          const added = messagesAfter(chat.messages, then.chat.messages, answer, profile);
          const pairs = pairsOf(response.output, replies);
          expect(pairsIn(added)).toEqual(expect.arrayContaining([...pairs]));
          const reading = { answer, own, profile };
          expect(readingOf(added, reading)).toEqual(expectedOf(reading));
        }
      },
    ),
    tries(300),
  );
  expect(told).toBeGreaterThan(60);
});

/** What was added to the messages. */
function messagesAfter(
  before: readonly ChatMessage[],
  after: readonly ChatMessage[],
  { sayings }: Answer,
  { alternateRoles, reasoningScope }: Profile,
): readonly ChatMessage[] {
  const isSilent = !sayings.some(({ type, text }) => type !== 'reasoning' && text.trim() !== '');
  const isJoined = isSilent || sayings.some(({ type }) => type === 'picture');
  const joins = alternateRoles && isJoined && before.at(-1)?.role === 'user';
  const known = joins ? before.slice(0, -1) : before;
  const text = (messages: readonly ChatMessage[]) =>
    messages.map((message) => {
      const { reasoning: _, thinking_blocks: __, ...others } = message;
      return JSON.stringify(reasoningScope === 'tool_turns' ? others : message);
    });
  expect(text(after.slice(0, known.length))).toEqual(text(known));
  return after.slice(known.length);
}

interface Told {
  readonly answer: Answer;
  readonly own: Habits;
  readonly profile: Profile;
}

/** What the messages say that the server has said. */
function readingOf(added: readonly ChatMessage[], told: Told): object {
  const assistants = added.filter(({ role }) => role === 'assistant');
  const texts = assistants.map((message) => textIn(message.content) + (message.refusal ?? ''));
  const content = texts.join('').replaceAll('[Generated an image]', '');
  const calls = assistants.flatMap(({ tool_calls = [] }) => tool_calls);
  const carriers = assistants.filter(({ tool_calls = [] }) => tool_calls.length > 0);
  const sayings = told.answer.sayings;
  return {
    ...Object.fromEntries(
      (['text', 'refusal'] as const).map((type) => [
        type,
        marksIn(content).filter((mark) => marksOf(sayings, type).includes(mark)),
      ]),
    ),
    // Whole, and nothing else.
    missing: sayings.filter(({ type, text }) => isSpoken(type) && !squeezed(content).includes(squeezed(text))),
    length: squeezed(content).length,
    messagesWithCalls: told.profile.singleCalls || isDivided(sayings) ? 1 : Math.max(1, carriers.length),
    calls: calls.map((call, index) => callAsSaid(call, sayings.filter(({ type }) => type === 'call')[index], told)),
    reasoning: reasoningIn(assistants, told),
    signature: marksIn(assistants.map(({ extra_content }) => extra_content ?? null)),
  };
}

function expectedOf(told: Told): object {
  const { sayings } = told.answer;
  const spoken = sayings.filter(({ type }) => isSpoken(type));
  return {
    text: marksOf(sayings, 'text'),
    refusal: marksOf(sayings, 'refusal'),
    missing: [],
    length: squeezed(spoken.map(({ text }) => text).join('')).length,
    messagesWithCalls: 1,
    calls: sayings.filter(({ type }) => type === 'call').map(() => 'as said'),
    reasoning: reasoningSaid(told),
    signature: sayings.flatMap(({ type, signature }) => (type === 'text' ? marksIn(signature) : [])),
  };
}

/** May the calls be in several messages: is a picture among them, or one that is asynchronous? */
function isDivided(sayings: readonly Saying[]): boolean {
  if (sayings.some(({ call }) => call?.kind.tool?.['async'] === true)) return true;
  const first = sayings.findIndex(({ type }) => type === 'call');
  return first >= 0 && sayings.slice(first).some(({ type }) => type === 'picture');
}

/** Where the profile's server is told its own reasoning. */
function reasoningPlace({ answer: { sayings }, own, profile }: Told): 'nowhere' | 'text' | 'blocks' | 'details' {
  const isSigned = sayings.some(({ type, signature }) => type === 'reasoning' && signature !== '');
  if (profile.reasoningScope === 'tool_turns' && profile.reasoningReplay !== 'none') return 'nowhere';
  if (own.thinks === 'blocks' && isSigned) return 'blocks';
  if (profile.reasoningReplay === 'none') return 'nowhere';
  return own.thinks === 'details' && isSigned && profile.reasoningReplay === 'reasoning_details' ? 'details' : 'text';
}

function reasoningIn(assistants: readonly ChatMessage[], told: Told): string {
  switch (reasoningPlace(told)) {
    case 'nowhere':
      return '';
    case 'blocks':
      return squeezed(
        assistants.flatMap(({ thinking_blocks: blocks = [] }) => (blocks as Block[]).map(blockText)).join(''),
      );
    case 'details': {
      const signatures = new Set(told.answer.sayings.flatMap(({ signature }) => marksIn(signature)));
      const details = assistants.map(({ reasoning_details: given = [] }) => given);
      return marksIn(details)
        .filter((mark) => signatures.has(mark))
        .join();
    }
    case 'text':
      return squeezed(assistants.map((message) => reasoningText(message)).join(''));
  }
}

function reasoningSaid(told: Told): string {
  const said = told.answer.sayings.filter(({ type }) => type === 'reasoning');
  switch (reasoningPlace(told)) {
    case 'nowhere':
      return '';
    case 'blocks':
      return squeezed(said.map(({ text, signature }) => (signature === '' ? '' : text + signature)).join(''));
    case 'details':
      return said.flatMap(({ signature }) => marksIn(signature)).join();
    case 'text':
      return squeezed(said.map(({ text }) => text).join(''));
  }
}

interface Block {
  readonly thinking: string;
  readonly signature: string;
}

function blockText({ thinking, signature }: Block): string {
  return thinking + signature;
}

function reasoningText({ reasoning, reasoning_content, reasoning_details: details, content }: ChatMessage): string {
  const parts = Array.isArray(content) ? content : [];
  const thinking = parts.flatMap((part) => (part.type === 'thinking' ? part.thinking : []));
  const texts = [...thinking, ...(details ?? [])] as { text?: string }[];
  return reasoning ?? reasoning_content ?? texts.map(({ text = '' }) => text).join('');
}

/** `as said`, or the call that is not. */
function callAsSaid(call: ChatToolCall, saying: Saying | undefined, { answer, profile }: Told): unknown {
  const said = saying?.call;
  if (saying === undefined || said == null) return call;
  const { id, ...others } = call;
  const { name, text } =
    call.type === 'custom'
      ? { name: call.custom.name, text: call.custom.input }
      : { name: call.function.name, text: call.function.arguments };
  const { function: _, custom: __, ...beside } = others as Record<string, unknown>;
  const isText = text === saying.text || (!said.kind.keepsText && isDeepStrictEqual(jsonIn(text), jsonIn(saying.text)));
  const before = answer.sayings.slice(0, answer.sayings.indexOf(saying));
  const isFirst = said.id !== undefined && said.id.length < 56 && !before.some((other) => other.call?.id === said.id);
  const isId = profile.callIdForm !== 'any' || !isFirst || id === said.id;
  const isSigned = isDeepStrictEqual(marksIn(beside), marksIn(saying.signature));
  return name === said.name && (isText || saying.isCut) && isId && isSigned ? 'as said' : call;
}

/** The pairs that the client sent. */
function pairsOf(output: readonly OutputItem[], replies: readonly Item[]): readonly string[] {
  const calls = new Map(output.flatMap((item) => ('call_id' in item ? [[item.call_id, item] as const] : [])));
  return replies
    .filter(({ call_id: id }) => id !== undefined && !('async' in (calls.get(id as string) ?? {})))
    .map(({ call_id: id, ...reply }) => {
      const { id: _, call_id: __, ...call } = calls.get(id as string) as unknown as Item;
      return `${callMark(call)} ${marksIn(reply)[0]}`;
    })
    .toSorted();
}

function marksOf(sayings: readonly Saying[], type: Saying['type']): readonly string[] {
  return sayings.flatMap((saying) => (saying.type === type ? marksIn(saying.text) : []));
}

function isSpoken(type: Saying['type']): boolean {
  return type === 'text' || type === 'refusal';
}

function textIn(content: ChatMessage['content']): string {
  // The stand-in for a message that a server demands.
  if (content == null || content === '.') return '';
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Without white space, which may be a template's. */
function squeezed(text: string): string {
  return text.replaceAll(/\s/g, '');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
