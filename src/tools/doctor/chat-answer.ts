import { Buffer } from 'node:buffer';
import {
  ApiError,
  builtInProfiles,
  factsOfChunk,
  readErrorBody,
  StreamTranslator,
  ThinkTagReader,
  translateCompletion,
  translateRequest,
} from '../../filter/index.ts';
import { jsonOf, objectOf } from '../../formats/json/loose.ts';
import { readSseData } from '../../formats/sse/data.ts';
import { SseDecoder, SseLimitError } from '../../formats/sse/sse-decoder.ts';
import { readConfig } from '../../service/settings/config.ts';
import { valuesOf } from '../../service/settings/setting.ts';
import { settings } from '../../service/settings/settings-table.ts';
import { toolNames } from './chat-body.ts';
import type { Answer } from './probe-types.ts';

type Response = ReturnType<typeof translateCompletion>['response'];

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
  /** No answer, for reasons that need not be the fault of this request. */
  | { readonly type: 'unanswered'; readonly message: string }
  | ReadAnswer;

/** All that a judge may look at. */
export interface ReadAnswer {
  readonly type: 'answer';
  readonly streamed: boolean;
  /** Events that carried a part of the answer. */
  readonly deltas: number;
  readonly done: boolean;
  /** Each delta repeated the text before it. */
  readonly isCumulative: boolean;
  /** All of the content, reasoning in tags included. */
  readonly text: string;
  /** The content without it, as a client would see it. */
  readonly said: string;
  /** Reasoning separate from the text; it may be hidden, so that only its field shows. */
  readonly reasoning: string;
  /** The fields it came in. */
  readonly reasoningFields: readonly string[];
  readonly calls: readonly AnsweredCall[];
  readonly finish: string;
  readonly usage: Response['usage'];
  /** Tokens that have a logprob. */
  readonly logprobs: number;
  /** The answer's `system_fingerprint`; `''` without one. */
  readonly fingerprint: string;
}

/** Statuses of a server, or a proxy in front of it, that cannot answer now. */
const inTrouble = new Set([500, 502, 503, 504, 529]);

/** Longest text that white space is taken out of for it. */
const maxRawLength = 10_000;

/** Largest event of a stream: a whole answer to a probe fits many times. */
const maxEventBytes = 2 ** 20;

/** Bytes of a stream whose events are held at a time. */
const pieceBytes = 2 ** 16;

/** An answer is charged and judged, sometimes by more than one probe: it is read once. */
const known = new WeakMap<Answer, ChatAnswer>();

/** Reads an answer to a Chat request. Never throws. */
export function readChatAnswer(answer: Answer): ChatAnswer {
  const steps = readChatAnswerInSteps(answer);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Reads it in a step for each chunk of a stream: any server may send so many that somebody else has to have a turn. */
export function* readChatAnswerInSteps(answer: Answer): Generator<void, ChatAnswer> {
  const read = known.get(answer) ?? (yield* stepsOf(answer));
  known.set(answer, read);
  return read;
}

/** Takes it for unanswered: there was no time to read it to its end. */
export function giveUpReading(answer: Answer): void {
  known.set(answer, { type: 'unanswered', message: 'its answer could not be read in the time that was left' });
}

function* stepsOf(answer: Answer): Generator<void, ChatAnswer> {
  if (answer.outcome === 'too_large') return { type: 'broken', message: answer.reason };
  if (answer.outcome === 'unreachable') return { type: 'unanswered', message: answer.reason };
  if (answer.outcome === 'timed_out') return { type: 'unanswered', message: `${answer.reason} (--timeout)` };
  if (answer.status < 200 || answer.status >= 300) {
    const message = shorten(readErrorBody(answer.body, answer.contentType).message || 'without a message');
    // Some servers refuse with a 500; with the others the request was not the cause.
    if (inTrouble.has(answer.status) && answer.status !== 500)
      return { type: 'unanswered', message: `${answer.status}: ${message}` };
    return { type: 'error', status: answer.status, message };
  }
  try {
    return isStream(answer.status, answer.contentType) ? yield* readStream(answer) : readJson(answer);
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof SseLimitError)) throw error;
    return { type: 'broken', message: shorten(error.message) };
  }
}

/** Is an answer with that status and type read as a stream? */
export function isStream(status: number, contentType: string | null): boolean {
  return status >= 200 && status < 300 && (contentType?.includes('event-stream') ?? false);
}

/** Did the model reason beside the text, as far as can be seen? */
export function hasReasoned({ reasoning, reasoningFields }: ReadAnswer): boolean {
  return reasoning !== '' || reasoningFields.length > 0;
}

/** The form of reasoning in a text: tags or channels at its start, a closing tag alone, or none. */
export function tagsIn(text: string): 'whole' | 'closing' | null {
  if (readTags(text, false).text !== text) return 'whole';
  return readTags(text, true).thinking.trim() === text.trim() ? null : 'closing';
}

/** The text on one line, without control characters, cut to `most` characters: by default as a table has room for. */
export function shorten(text: string, most = 300): string {
  const line = text
    .slice(0, maxRawLength)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

function emptiness({ status, body }: Answer): string {
  return body.trim() === ''
    ? `a ${status} without a body`
    : `a ${status} that is not a Chat Completion: ${shorten(body)}`;
}

/** The chunks one after another, since all of them together take a hundred times the memory of the stream; and its end. */
function* chunksOf(body: string): Generator<object | 'done'> {
  const bytes = Buffer.from(body);
  const decoder = new SseDecoder({ maxEventBytes });
  for (let at = 0; at < bytes.length; at += pieceBytes)
    yield* chunksIn(decoder.push(bytes.subarray(at, at + pieceBytes)));
  yield* chunksIn(decoder.finish());
}

function* chunksIn(messages: ReturnType<SseDecoder['push']>): Generator<object | 'done'> {
  for (const message of messages) {
    const data = message.type === 'event' ? readSseData(message.data) : null;
    if (data === null) continue;
    yield* data.values.flatMap((value) => objectOf(value) ?? []);
    if (data.done) yield 'done';
  }
}

/** Fewer may be chance. */
const minRepeats = 4;

/** Facts that are looked for in the chunks of an answer; a completion is one. */
class SeenChunks {
  hasChoice = false;
  logprobs = 0;
  fingerprint = '';
  /** The fields that reasoning came in. */
  readonly reasoningFields = new Set<string>();
  /** Deltas in a row that repeat the text before them, and add to it; -1 once one did not. */
  #repeats = 0;
  #lastText = '';

  /** Takes a chunk. Gives the message of the error that it holds in place of an answer; null for none. */
  add(chunk: unknown): string | null {
    const { error, hasChoice, text, reasoningFields, logprobs, fingerprint } = factsOfChunk(chunk);
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

/** Throws `SseLimitError` for an event that is too large. */
function* readStream(answer: Answer): Generator<void, ChatAnswer> {
  const seen = new SeenChunks();
  const translator = new StreamTranslator(contextFor(true));
  let [deltas, done] = [0, false];
  for (const chunk of chunksOf(answer.body)) {
    yield;
    done = chunk === 'done';
    if (chunk === 'done') break;
    const error = seen.add(chunk);
    if (error !== null) return { type: 'error', status: answer.status, message: shorten(error) };
    if (translator.push(chunk).some((event) => 'delta' in event)) deltas += 1;
  }
  if (!seen.hasChoice) return { type: 'broken', message: emptiness(answer) };
  translator.finish(done ? 'done' : 'eof');
  const finish = translator.summary().finishReason ?? '';
  const facts = factsOf(translator.response.final?.output ?? [], seen);
  return { type: 'answer', streamed: true, done, deltas, finish, usage: translator.response.usage, ...facts };
}

/** Throws `ApiError` if it is not an answer. */
function readJson(answer: Answer): ChatAnswer {
  const completion = objectOf(jsonOf(answer.body));
  const seen = new SeenChunks();
  const error = seen.add(completion);
  if (error !== null) return { type: 'error', status: answer.status, message: shorten(error) };
  if (!seen.hasChoice) return { type: 'broken', message: emptiness(answer) };
  const { response, finishReason } = translateCompletion(completion, contextFor(false));
  const { output, usage } = response;
  const deltas = output.length === 0 ? 0 : 1;
  const facts = factsOf(output, seen);
  return { type: 'answer', streamed: false, done: false, finish: finishReason ?? '', usage, deltas, ...facts };
}

/** As for a plain request that offers the probes' tools; tags stay in the text, where they can be looked at, and a call without an id has none. */
function contextFor(stream: boolean) {
  const generic = builtInProfiles.get('generic')?.profile;
  if (generic === undefined) throw new Error('There is no profile generic.');
  const tools = [...toolNames].map((name) => ({ type: 'function', name }));
  const profile = { ...generic, thinkTags: 'off' as const };
  const clock = { now: () => 0, newId: () => '' };
  return translateRequest({ model: 'm', input: 'x', stream, tools }, { ...usual, profile }, clock).context;
}

/** The service's settings where nothing is set; reasoning comes as a summary. */
const usual = { ...valuesOf(settings.translation, readConfig({})), reasoningEvents: 'summary' as const };

function factsOf(output: Response['output'], seen: SeenChunks) {
  const text = output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
  const tags = tagsIn(text);
  return {
    text,
    said: tags === null ? text : readTags(text, tags === 'closing').text,
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
      .map((part) => part.text)
      .join(''),
    reasoningFields: [...seen.reasoningFields],
    calls: output.flatMap(callOf),
    logprobs: seen.logprobs,
    fingerprint: seen.fingerprint,
    isCumulative: seen.isCumulative(),
  };
}

function callOf(item: Response['output'][number]): AnsweredCall[] {
  if (item.type === 'function_call') return [{ id: item.call_id, name: item.name, arguments: item.arguments }];
  return item.type === 'custom_tool_call' ? [{ id: item.call_id, name: item.name, arguments: item.input }] : [];
}

/** As the product would read the text with the flags that fit. */
function readTags(text: string, implicitThink: boolean) {
  const reader = new ThinkTagReader({ implicitThink });
  const [most, rest] = [reader.push(text), reader.finish()];
  return { thinking: most.thinking + rest.thinking, text: most.text + rest.text };
}
