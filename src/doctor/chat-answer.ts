import { Buffer } from 'node:buffer';
import type { LooseChoice, LooseChunk, LooseLogprobs, LooseMessage } from '../schema/chat-completion.ts';
import type { Usage } from '../schema/response-resource.ts';
import { readSseData } from '../sse/data.ts';
import { SseDecoder } from '../sse/decode.ts';
import { callEntriesOf, fragmentOf } from '../translate/chat/call-entries.ts';
import { readErrorBody } from '../translate/chat/error-body.ts';
import { arrayOf, choiceOf, jsonOf, objectOf, objectsOf, textOf } from '../translate/chat/loose.ts';
import { ThinkTagReader } from '../translate/chat/think-tags.ts';
import { usageOf } from '../translate/chat/usage.ts';
import { errorOfValue } from '../translate/error.ts';
import type { Answer } from './probe.ts';

/** A tool call of an answer, with the arguments as text. */
export interface AnsweredCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An answer to a Chat request, from JSON or from a stream. */
export type ChatAnswer =
  | { readonly type: 'error'; readonly status: number; readonly message: string }
  | { readonly type: 'broken'; readonly message: string }
  /** No answer to this request, for reasons that need not be its own. */
  | { readonly type: 'unanswered'; readonly message: string }
  | ReadAnswer;

/** All that a judge may look at. */
export interface ReadAnswer {
  readonly type: 'answer';
  readonly streamed: boolean;
  /** Events that carried a part of the answer. */
  readonly deltas: number;
  readonly done: boolean;
  /** All of the content, reasoning in tags included. */
  readonly text: string;
  /** The content without it, as a client would see it. */
  readonly said: string;
  /** Reasoning, by the field it came in. */
  readonly reasoning: ReadonlyMap<string, string>;
  readonly calls: readonly AnsweredCall[];
  readonly finish: string;
  readonly usage: Usage | null;
  /** Tokens that have a logprob. */
  readonly logprobs: number;
}

/** Statuses of a server, or of a proxy before it, that cannot answer now. */
const inTrouble = new Set([500, 502, 503, 504, 529]);

/** Longest message of a server that is kept. */
const MAX_MESSAGE = 300;

/** Reads an answer to a Chat request. Never throws. */
export function readChatAnswer(answer: Answer): ChatAnswer {
  if (answer.outcome === 'too_large') return { type: 'broken', message: answer.reason };
  if (answer.outcome === 'unreachable') return { type: 'unanswered', message: answer.reason };
  if (answer.outcome === 'timed_out') return { type: 'unanswered', message: `${answer.reason} (--timeout)` };
  if (answer.status < 200 || answer.status >= 300) {
    const message = shorten(readErrorBody(answer.body, answer.contentType).message || 'without a message');
    // A 500 is how some servers refuse; the others say that there was nothing to refuse.
    if (inTrouble.has(answer.status) && answer.status !== 500)
      return { type: 'unanswered', message: `${answer.status}: ${message}` };
    return { type: 'error', status: answer.status, message };
  }
  const streamed = answer.contentType?.includes('event-stream') ?? false;
  const { values, done } = streamed ? valuesOfStream(answer.body) : { values: [jsonOf(answer.body)], done: false };
  const chunks = values.flatMap((value) => objectOf<LooseChunk>(value) ?? []);
  for (const chunk of chunks) {
    const error = errorOfValue(chunk);
    if (error !== null) return { type: 'error', status: answer.status, message: shorten(error.message) };
  }
  if (!chunks.some((chunk) => choiceOf(chunk) !== null)) return { type: 'broken', message: emptiness(answer) };
  return fold(chunks, streamed, done);
}

/** The reasoning of an answer in one text, whatever its field; `''` for none. */
export function reasoningText(answer: ReadAnswer): string {
  return [...answer.reasoning.values()].join('');
}

/** How reasoning stands in a text: in tags at its start, up to a closing tag alone, or not at all. */
export function tagsIn(text: string): 'whole' | 'closing' | null {
  if (/^\s*(?:<(?:seed:|mm:)?(?:think(?:ing)?|thought|reasoning)>|\[THINK\])/.test(text)) return 'whole';
  return /<\/(?:seed:|mm:)?(?:think(?:ing)?|thought|reasoning)>|\[\/THINK\]/.test(text) ? 'closing' : null;
}

/** The text on one line, without control characters, cut to what a table can hold. */
export function shorten(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}

function emptiness({ status, body }: Answer): string {
  return body.trim() === '' ? `a ${status} without a body` : `a ${status} that is no Chat Completion: ${shorten(body)}`;
}

function valuesOfStream(body: string): { values: unknown[]; done: boolean } {
  const bytes = Buffer.from(body);
  const decoder = new SseDecoder({ maxEventBytes: bytes.length + 1 });
  const values: unknown[] = [];
  for (const message of [...decoder.push(bytes), ...decoder.finish()]) {
    if (message.type !== 'event') continue;
    const data = readSseData(message.data);
    if (data.type !== 'values') continue;
    values.push(...data.values);
    if (data.done) return { values, done: true };
  }
  return { values, done: false };
}

function fold(chunks: readonly LooseChunk[], streamed: boolean, done: boolean): ReadAnswer {
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  const reasoning = new Map<string, string>();
  let [text, finish, deltas, logprobs] = ['', '', 0, 0];
  let usage: Usage | null = null;
  for (const chunk of chunks) {
    usage = usageOf(chunk, { reasoningTokensExtra: false }) ?? usage;
    const choice = choiceOf(chunk);
    const message = objectOf<LooseMessage>(choice?.delta) ?? objectOf<LooseMessage>(choice?.message);
    finish = textOf(choice?.finish_reason) || finish;
    logprobs += logprobsIn(choice);
    if (message === null) continue;
    const said = saidIn(message);
    text += said.text;
    for (const [field, piece] of said.reasoning) reasoning.set(field, (reasoning.get(field) ?? '') + piece);
    const entries = callEntriesOf(message);
    for (const entry of entries) {
      const fragment = fragmentOf(entry);
      const isNew = fragment.index === null && (fragment.id !== '' || calls.size === 0);
      const index = fragment.index ?? (isNew ? calls.size : calls.size - 1);
      const call = calls.get(index) ?? { id: '', name: '', arguments: '' };
      call.id ||= fragment.id;
      call.name ||= fragment.name;
      call.arguments += fragment.text;
      calls.set(index, call);
    }
    if (said.text !== '' || said.reasoning.length > 0 || entries.length > 0) deltas += 1;
  }
  return {
    type: 'answer',
    streamed,
    deltas,
    done,
    text,
    said: withoutTags(text),
    reasoning,
    calls: [...calls.values()],
    finish,
    usage,
    logprobs,
  };
}

/** As the product would read it with the flags that fit. */
function withoutTags(text: string): string {
  const tags = tagsIn(text);
  if (tags === null) return text;
  const reader = new ThinkTagReader({ implicitThink: tags === 'closing' });
  return reader.push(text).text + reader.finish().text;
}

interface LooseTextPart {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly thinking?: unknown;
}

/** The text of a message or delta, and its reasoning by field. */
function saidIn(message: LooseMessage): { text: string; reasoning: [string, string][] } {
  const reasoning: [string, string][] = [];
  const put = (field: string, text: string) => {
    if (text !== '') reasoning.push([field, text]);
  };
  put('reasoning_content', textOf(message.reasoning_content));
  put('reasoning', textOf(message.reasoning));
  put('thinking', textOf(message.thinking));
  if (arrayOf(message.reasoning_details).length > 0)
    for (const part of objectsOf<LooseTextPart>(message.reasoning_details))
      put('reasoning_details', textOf(part.text) || ' ');
  if (typeof message.content === 'string') return { text: message.content, reasoning };
  let text = '';
  for (const part of objectsOf<LooseTextPart>(message.content)) {
    if (part.type !== 'thinking' && part.type !== 'reasoning') text += textOf(part.text);
    else put('thinking part', JSON.stringify(part.thinking ?? part.text ?? ''));
  }
  return { text, reasoning };
}

function logprobsIn(choice: LooseChoice | null): number {
  return arrayOf(objectOf<LooseLogprobs>(choice?.logprobs)?.content).length;
}
