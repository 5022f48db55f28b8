import { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type {
  Annotation,
  OutputItem,
  ResponseResource,
  ResponseStatus,
  Usage,
  WithHeaders,
} from '../../../wire/schema/response-resource.ts';
import type { AnswerReport, Fold, Outcome, Repair, ResponseContext } from '../../shared/context.ts';
import { HeldBytes } from '../../shared/held-bytes.ts';
import { buildExtensionEvent, Extensions } from '../read/extensions.ts';
import type { UnreadNames } from '../read/unread-names.ts';
import { EventLog } from './event-log.ts';
import { type ChunkExtras, type MessageExtras, OutputWriter } from './output-writer.ts';

/** The tiers that every SDK knows in a Response: some (async-openai, openai-java) refuse a Response with any other. */
const tiersOfAnswers = new Set(['auto', 'default', 'flex', 'priority', 'scale']);

type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Writes one response from `response.created` to its terminal event, whether the upstream answers in chunks or in one piece. */
export class ResponseWriter {
  readonly log: EventLog;
  readonly repairs = new Set<Repair>();
  output: OutputWriter;
  usage: Usage | null = null;
  model: string | null = null;
  serviceTier: string | null = null;
  /** Fields that the upstream adds of its own; null where all the output becomes other items. */
  readonly extensions: Extensions | null;
  #context: ResponseContext;
  /** The items that all the output became, none before its end; null where items are sent as they come. */
  #folded: readonly OutputItem[] | null;
  readonly #id: string;
  /** The events of the output's items, which a client does not get where the output becomes other items. */
  readonly #outputLog: EventLog;
  status: ResponseStatus = 'in_progress';
  failure: ApiError | null = null;
  /** The Response of the terminal event; null until that event was emitted. */
  final: ResponseResource | null = null;
  #started = false;

  /** With `wantsEvents` the client gets events, and not the Response alone. */
  constructor(context: ResponseContext, held: HeldBytes, wantsEvents = true) {
    this.#context = context;
    this.#id = context.newId('resp');
    this.log = new EventLog(context, held, wantsEvents);
    const isFolded = context.answer.fold !== null;
    this.#folded = isFolded ? [] : null;
    this.extensions = isFolded ? null : new Extensions(held, context.profile.passExtensions);
    this.#outputLog = isFolded ? new EventLog(context, held, false) : this.log;
    this.output = new OutputWriter(this.#outputLog, context, this.repairs);
  }

  /** Counts bytes of the upstream's answer: the events may take so much more. */
  came(bytes: number): void {
    this.#outputLog.came(bytes);
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.log.emit({ type: 'response.created', response: this.#resource(null) });
    this.log.emit({ type: 'response.in_progress', response: this.#resource(null) });
  }

  /** Sends an event of the upstream's own at once, since it belongs to no item. Returns false where the client does not get it. */
  passEvent(name: string, value: object | null): boolean {
    const event = this.extensions?.passesAll && this.#context.stream ? buildExtensionEvent(name, value) : null;
    if (event === null) return false;
    this.start();
    this.log.emit(event);
    return true;
  }

  /** Writes what a delta adds. A call that is not allowed fails the Response. */
  add(delta: LooseMessage, extras: ChunkExtras): void {
    this.#bounded(() => this.output.add(this.#folded === null ? delta : withoutCalls(delta), extras));
  }

  cite(citations: readonly Annotation[]): void {
    this.#bounded(() => this.output.cite(citations));
  }

  addWhole(message: LooseMessage, extras: MessageExtras): void {
    this.output.addWhole(this.#folded === null ? message : withoutCalls(message), extras);
    this.output.finish();
  }

  /** Writes a part of the answer. What that throws fails the Response. */
  #bounded(write: () => void): void {
    try {
      write();
    } catch (thrown) {
      this.fail(ApiError.from(thrown));
    }
  }

  /** Closes the output, emits the terminal event, and returns the Response of that event. */
  end(outcome: Outcome): ResponseResource {
    if (outcome.status === 'failed') return this.fail(outcome.error);
    const { fold } = this.#context.answer;
    if (fold !== null) return this.#endFolded(fold, outcome);
    if (outcome.status === 'incomplete') return this.#end('incomplete', outcome.reason);
    const error = this.output.unrunnableCall() ?? this.#missingCall(outcome.hasCalled) ?? this.#reasoningAlone();
    if (error !== null) return this.fail(error);
    const { calls } = this.output.items;
    // OpenAI's servers cannot end an answer so; a Chat server may, and the text is an answer all the same.
    if (this.#context.requiresCall && calls === 0) this.repairs.add('tool_choice_ignored');
    // All calls are kept: nobody can say which of them the model could do without.
    if (!this.#context.echo.parallel_tool_calls && calls > 1) this.repairs.add('parallel_tool_calls_ignored');
    this.output.ensureOutput();
    return this.#end('completed', null);
  }

  /** Ends with `error`, nested and flat (choice D3), and `response.failed`. The output so far is kept. */
  fail(error: ApiError): ResponseResource {
    this.start();
    this.output.fail();
    this.failure = error;
    const { code, message, param } = error;
    this.log.emit({ type: 'error', error: { ...error.toObject(), ...headersOf(error) }, code, message, param });
    return this.#finish('failed', null);
  }

  /** Ends with `error` in few bytes: the output is dropped, and the Response repeats nothing large of its request. */
  shed(error: ApiError): void {
    this.#started = true;
    this.#context = { ...this.#context, echo: { ...this.#context.echo, instructions: null, tools: [], metadata: {} } };
    this.log.take();
    this.extensions?.drop();
    this.log.held.bytes = 0;
    this.output = new OutputWriter(new EventLog(this.#context, new HeldBytes(), false), this.#context, this.repairs);
    this.fail(error);
  }

  /** An estimate of the tokens of the output so far; `usage` has the upstream's own count once it came. */
  outputTokens(): number {
    return this.#outputLog.tokens();
  }

  report(finishReason: string | null, unread: UnreadNames): AnswerReport {
    const { failure: error, status, model, usage, repairs } = this;
    const outputTokens = this.outputTokens();
    return { error, status, model, usage, outputTokens, finishReason, unread: unread.names(), repairs: [...repairs] };
  }

  /** An agent would take an answer that ends for a call, but has none, for the end of its task (vllm#53255). */
  #missingCall(hasCalled: boolean): ApiError | null {
    if (!hasCalled || this.output.hasAnswer()) return null;
    const message = 'The upstream ended the answer for a tool call, but sent no tool call.';
    return ApiError.ofModel('invalid_tool_call', message);
  }

  #tier(): string | null {
    const given = this.serviceTier;
    if (given === null || given === '') return null;
    const named = Object.entries(this.#context.profile.serviceTiers).filter(([, word]) => word === given);
    const tier = [...named.map(([name]) => name), given].find((name) => tiersOfAnswers.has(name));
    if (tier === undefined) this.repairs.add('service_tier');
    return tier ?? null;
  }

  /** OpenAI's API completes an answer of reasoning alone, but agents stop at one without a word. */
  #reasoningAlone(): ApiError | null {
    if (this.output.hasAnswer() || !this.output.hasItems()) return null;
    this.repairs.add('reasoning_alone');
    if (this.#context.reasoningAlone === 'completed') return null;
    return ApiError.ofModel('reasoning_alone', 'The model’s answer contains only reasoning: no text and no tool call.');
  }

  #end(status: 'completed' | 'incomplete', reason: IncompleteReason | null): ResponseResource {
    this.output.close(status);
    return this.#finish(status, reason);
  }

  #finish(status: 'completed' | 'incomplete' | 'failed', reason: IncompleteReason | null): ResponseResource {
    this.status = status;
    this.final = this.#resource(reason);
    this.log.emit({ type: `response.${status}`, response: this.final });
    return this.final;
  }

  /** Makes other items of the output, once it is whole, and emits them. */
  #endFolded(fold: Fold, outcome: Outcome): ResponseResource {
    this.output.close('completed');
    const items = fold(this.output.items.closed, { outcome, model: this.model, newId: this.#context.newId });
    if (items instanceof ApiError) return this.fail(items);
    this.#folded = items;
    for (const [output_index, item] of items.entries()) {
      this.log.emit({ type: 'response.output_item.added', output_index, item });
      this.log.emit({ type: 'response.output_item.done', output_index, item });
    }
    return this.#end('completed', null);
  }

  /** The Response with all its fields (docs/answers.md §1.1): the body of a JSON answer, also sent in every lifecycle event. */
  #resource(incompleteReason: IncompleteReason | null): ResponseResource {
    const { echo, createdAt, now } = this.#context;
    const status = this.status;
    const error = this.failure;
    const hasEnded = status !== 'in_progress';
    return {
      // Minted once per exchange: the upstream's own may be empty, repeat, or change within a stream.
      id: this.#id,
      object: 'response',
      created_at: createdAt,
      completed_at: status === 'completed' ? Math.max(now(), createdAt) : null,
      status,
      error:
        error === null ? null : { type: error.type, code: error.code, message: error.message, ...headersOf(error) },
      incomplete_details: incompleteReason === null ? null : { reason: incompleteReason },
      ...echo,
      model: this.model || echo.model,
      previous_response_id: null,
      output: hasEnded ? (this.#folded ?? this.output.items.closed) : [],
      usage: this.usage === null || this.extensions === null ? this.usage : this.extensions.usageWith(this.usage),
      service_tier: this.#tier() ?? echo.service_tier,
      store: false,
      background: false,
      ...(hasEnded && this.extensions?.fields()),
    };
  }
}

/** Removes the calls of a summary for compaction: no tool was offered to the model that wrote it. */
function withoutCalls(message: LooseMessage): LooseMessage {
  if (message.tool_calls == null && message.function_call == null) return message;
  return { ...message, tool_calls: undefined, function_call: undefined };
}

/** The headers that an error would have as an HTTP response; most errors have none. */
function headersOf({ headers }: ApiError): WithHeaders {
  return Object.keys(headers).length === 0 ? {} : { headers };
}
