import { Buffer } from 'node:buffer';
import {
  ApiError,
  builtInProfiles,
  readChunkFacts,
  readErrorBody,
  StreamTranslator,
  ThinkTagReader,
  type TranslatedCompletion,
  translateCompletion,
  translateRequest,
} from '../../filter/index.ts';
import { jsonOf, objectOf } from '../../formats/json/loose.ts';
import { readSseData } from '../../formats/sse/data.ts';
import { SseDecoder, SseLimitError } from '../../formats/sse/sse-decoder.ts';
import { readConfig } from '../../service/settings/config.ts';
import { readValues } from '../../service/settings/setting.ts';
import { settings } from '../../service/settings/settings-table.ts';
import { toolNames } from './chat-body.ts';
import type { Answer } from './findings.ts';

type Response = TranslatedCompletion['response'];

export interface AnsweredCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export type ChatAnswer =
  | { readonly type: 'error'; readonly status: number; readonly message: string }
  | { readonly type: 'broken'; readonly message: string }
  /** The server gave no answer, perhaps for a reason other than this request. */
  | { readonly type: 'unanswered'; readonly message: string }
  | ReadAnswer;

/** The facts of a valid answer, by which the probes judge it. */
export type ReadAnswer = ReturnType<typeof collectFacts>;

/** The statuses with which a server, or a proxy in front of it, says that it cannot answer now. */
const inTrouble = new Set([500, 502, 503, 504, 529]);

/** The most characters of a text that `shortenToLine` reads. */
const maxRawLength = 10_000;

/** The largest event of a probe's stream that is read. A whole answer to a probe is much smaller. */
const maxEventBytes = 2 ** 20;

/** A stream is decoded in pieces of this size, so that few of its events are in memory at a time. */
const pieceBytes = 2 ** 16;

/** Answers that were read already: a long stream takes time, and several functions read the same one. */
const known = new WeakMap<Answer, ChatAnswer>();

/** Reads an answer to a Chat request. Never throws. */
export function readChatAnswer(answer: Answer): ChatAnswer {
  const steps = readChatAnswerInSteps(answer);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Reads an answer to a Chat request in steps, one for each chunk, because a server may send millions of them. */
export function* readChatAnswerInSteps(answer: Answer): Generator<void, ChatAnswer> {
  const read = known.get(answer) ?? (yield* readSteps(answer));
  known.set(answer, read);
  return read;
}

/** Marks an answer as unanswered, because there was no time to read it to its end. */
export function giveUpReading(answer: Answer): void {
  known.set(answer, { type: 'unanswered', message: 'its answer could not be read in the time that was left' });
}

function* readSteps(answer: Answer): Generator<void, ChatAnswer> {
  if (answer.outcome === 'too_large') return { type: 'broken', message: answer.reason };
  if (answer.outcome === 'unreachable') return { type: 'unanswered', message: answer.reason };
  if (answer.outcome === 'timed_out') return { type: 'unanswered', message: `${answer.reason} (--timeout)` };
  if (answer.status < 200 || answer.status >= 300) {
    const message = shortenToLine(readErrorBody(answer.body, answer.contentType).message || 'without a message');
    // Some servers refuse a request with a 500. The other statuses do not depend on the request.
    if (inTrouble.has(answer.status) && answer.status !== 500)
      return { type: 'unanswered', message: `${answer.status}: ${message}` };
    return { type: 'error', status: answer.status, message };
  }
  try {
    return isStreamed(answer.status, answer.contentType) ? yield* readStream(answer) : readCompletion(answer);
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof SseLimitError)) throw error;
    return { type: 'broken', message: shortenToLine(error.message) };
  }
}

export function isStreamed(status: number, contentType: string | null): boolean {
  return status >= 200 && status < 300 && (contentType?.includes('event-stream') ?? false);
}

/** Whether the model reasoned beside the text, as far as an answer shows it. */
export function hasReasoned({ reasoning, reasoningFields }: ReadAnswer): boolean {
  return reasoning !== '' || reasoningFields.length > 0;
}

/** The form of reasoning in a text: tags or channels at its start, a closing tag alone, or none. */
export function findTags(text: string): 'whole' | 'closing' | null {
  if (separateTags(text, false).text !== text) return 'whole';
  return separateTags(text, true).thinking.trim() === text.trim() ? null : 'closing';
}

/** Shortens a text to one line of `most` characters, without control characters. */
export function shortenToLine(text: string, most = 300): string {
  const line = text
    .slice(0, maxRawLength)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

function describeEmptiness({ status, body }: Answer): string {
  return body.trim() === ''
    ? `a ${status} without a body`
    : `a ${status} that is not a Chat Completion: ${shortenToLine(body)}`;
}

/** Yields the chunks of a stream, then `done`. All chunks together would take 100 times the stream's memory. */
function* splitChunks(body: string): Generator<object | 'done'> {
  const bytes = Buffer.from(body);
  const decoder = new SseDecoder({ maxEventBytes });
  for (let at = 0; at < bytes.length; at += pieceBytes)
    yield* readChunks(decoder.push(bytes.subarray(at, at + pieceBytes)));
  yield* readChunks(decoder.finish());
}

function* readChunks(messages: ReturnType<SseDecoder['push']>): Generator<object | 'done'> {
  for (const message of messages) {
    const data = message.type === 'event' ? readSseData(message.data) : null;
    if (data === null) continue;
    yield* data.values.flatMap((value) => objectOf(value) ?? []);
    if (data.done) yield 'done';
  }
}

/** The number of repeating deltas that proves a cumulative stream. Fewer may be chance. */
const minRepeats = 4;

class SeenChunks {
  hasChoice = false;
  logprobs = 0;
  fingerprint = '';
  readonly reasoningFields = new Set<string>();
  /** The number of deltas in a row that repeat all text before them and add to it; -1 once a delta did not. */
  #repeats = 0;
  #lastText = '';

  /** Notes the facts of a chunk. If the chunk holds an error instead of an answer, returns its message. */
  add(chunk: unknown): string | null {
    const { error, hasChoice, text, reasoningFields, logprobs, fingerprint } = readChunkFacts(chunk);
    this.hasChoice ||= hasChoice;
    this.fingerprint ||= fingerprint;
    this.logprobs += logprobs;
    for (const field of reasoningFields) this.reasoningFields.add(field);
    this.#compare(text);
    return error === null ? null : error.message;
  }

  isCumulative(): boolean {
    return this.#repeats >= minRepeats;
  }

  #compare(text: string): void {
    if (text === '' || text === this.#lastText || this.#repeats === -1) return;
    if (this.#lastText !== '') this.#repeats = text.startsWith(this.#lastText) ? this.#repeats + 1 : -1;
    this.#lastText = text;
  }
}

function* readStream(answer: Answer): Generator<void, ChatAnswer> {
  const seen = new SeenChunks();
  const translator = new StreamTranslator(createContext(true));
  let [deltas, done] = [0, false];
  for (const chunk of splitChunks(answer.body)) {
    yield;
    done = chunk === 'done';
    if (chunk === 'done') break;
    const error = seen.add(chunk);
    if (error !== null) return { type: 'error', status: answer.status, message: shortenToLine(error) };
    if (translator.push(chunk).some((event) => 'delta' in event)) deltas += 1;
  }
  if (!seen.hasChoice) return { type: 'broken', message: describeEmptiness(answer) };
  translator.finish(done ? 'done' : 'eof');
  const finish = translator.summary().finishReason ?? '';
  const ends = { streamed: true, done, deltas, finish, usage: translator.response.usage };
  return collectFacts(translator.response.final?.output ?? [], seen, ends);
}

function readCompletion(answer: Answer): ChatAnswer {
  const completion = objectOf(jsonOf(answer.body));
  const seen = new SeenChunks();
  const error = seen.add(completion);
  if (error !== null) return { type: 'error', status: answer.status, message: shortenToLine(error) };
  if (!seen.hasChoice) return { type: 'broken', message: describeEmptiness(answer) };
  const { response, finishReason } = translateCompletion(completion, createContext(false));
  const { output, usage } = response;
  const deltas = output.length === 0 ? 0 : 1;
  return collectFacts(output, seen, { streamed: false, done: false, finish: finishReason ?? '', usage, deltas });
}

/**
 * Builds the context of a plain request with the probes' tools, in which answers are read. Reasoning tags stay in their
 * text.
 */
function createContext(stream: boolean) {
  const generic = builtInProfiles.get('generic')?.profile;
  if (generic === undefined) throw new Error('There is no profile generic.');
  const tools = [...toolNames].map((name) => ({ type: 'function', name }));
  const profile = { ...generic, thinkTags: 'off' as const };
  const clock = { now: () => 0, newId: () => '' };
  return translateRequest({ model: 'm', input: 'x', stream, tools }, { ...usual, profile }, clock).context;
}

const usual = { ...readValues(settings.translation, readConfig({})), reasoningEvents: 'summary' as const };

function collectFacts(output: Response['output'], seen: SeenChunks, ends: AnswerEnds) {
  const text = output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
  const tags = findTags(text);
  return {
    type: 'answer' as const,
    ...ends,
    /** The whole content of the answer, including reasoning in tags. */
    text,
    /** The content without reasoning, as a client would see it. */
    said: tags === null ? text : separateTags(text, tags === 'closing').text,
    /** The reasoning beside the text; empty for hidden reasoning, of which only the field is known. */
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
      .map((part) => part.text)
      .join(''),
    reasoningFields: [...seen.reasoningFields],
    calls: output.flatMap(readCall),
    /** The number of tokens that have a logprob. */
    logprobs: seen.logprobs,
    /** The answer's `system_fingerprint`; `''` without one. */
    fingerprint: seen.fingerprint,
    /** True if each delta of the stream repeated the text before it. */
    isCumulative: seen.isCumulative(),
  };
}

/** What an answer's stream or JSON says of its end. */
interface AnswerEnds {
  readonly streamed: boolean;
  /** The number of stream events that carried a part of the answer. */
  readonly deltas: number;
  readonly done: boolean;
  readonly finish: string;
  readonly usage: Response['usage'];
}

function readCall(item: Response['output'][number]): AnsweredCall[] {
  if (item.type === 'function_call') return [{ id: item.call_id, name: item.name, arguments: item.arguments }];
  return item.type === 'custom_tool_call' ? [{ id: item.call_id, name: item.name, arguments: item.input }] : [];
}

/** Separates reasoning tags from a text, as the product would with the flags that fit the server. */
function separateTags(text: string, implicitThink: boolean) {
  const reader = new ThinkTagReader({ implicitThink });
  const [most, rest] = [reader.push(text), reader.finish()];
  return { thinking: most.thinking + rest.thinking, text: most.text + rest.text };
}
