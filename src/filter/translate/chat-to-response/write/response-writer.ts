import { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type {
  OutputItem,
  ResponseResource,
  ResponseStatus,
  Usage,
  WithHeaders,
} from '../../../wire/schema/response-resource.ts';
import type { AnswerReport, Fold, Outcome, Repair, ResponseContext } from '../../shared/context.ts';
import type { UnknownType } from '../../shared/dropped.ts';
import { HeldBytes } from '../../shared/held-bytes.ts';
import { buildExtensionEvent, Extensions } from '../read/extensions.ts';
import { EventLog } from './event-log.ts';
import { type ChunkExtras, OutputWriter } from './output-writer.ts';

/** The words that every SDK knows in a Response. */
const tiersOfAnswers = new Set(['auto', 'default', 'flex', 'priority', 'scale']);

type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Writes one response from `response.created` to its terminal event, whether the upstream answers in chunks or in one piece. */
export class ResponseWriter {
  readonly log: EventLog;
  readonly repairs = new Set<Repair>();
  output: OutputWriter;
  /** Usage that the upstream has reported so far; each event's Response shows it. */
  usage: Usage | null = null;
  model: string | null = null;
  serviceTier: string | null = null;
  /** Fields that the upstream adds of its own; null where the client does not get it, or an item that all the output becomes. */
  readonly extensions: Extensions | null;
  #context: ResponseContext;
  /** The items that the output has become; null where it is sent as it comes. */
  #folded: readonly OutputItem[] | null;
  readonly #id: string;
  /** The log of the output's own events, wanted or not. */
  readonly #outputLog: EventLog;
  status: ResponseStatus = 'in_progress';
  failure: ApiError | null = null;
  /** The Response of the terminal event; null until that was emitted. */
  final: ResponseResource | null = null;
  #started = false;

  /** `wantsEvents`: the client gets more of the answer than its Response. */
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

  /** So many bytes of the upstream's answer came: the client's may grow with them. */
  came(bytes: number): void {
    this.#outputLog.came(bytes);
  }

  /** Emits `response.created` and `response.in_progress`, once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.log.emit({ type: 'response.created', response: this.#resource(null) });
    this.log.emit({ type: 'response.in_progress', response: this.#resource(null) });
  }

  /** Sends an event of the upstream's own at once, as it is of no item. False where it does not go to the client. */
  passEvent(name: string, value: object | null): boolean {
    const event = this.extensions?.passesAll && this.#context.stream ? buildExtensionEvent(name, value) : null;
    if (event === null) return false;
    this.start();
    this.log.emit(event);
    return true;
  }

  /** Writes what a delta adds; the Response fails by a call that is not allowed. */
  add(delta: LooseMessage, extras: ChunkExtras): void {
    try {
      this.output.add(this.#folded === null ? delta : withoutCalls(delta), extras);
    } catch (thrown) {
      this.fail(ApiError.from(thrown));
    }
  }

  /** Writes a whole message, and what was held back. Throws `ApiError` for an error of the model's. */
  addWhole(message: LooseMessage, extras: Pick<ChunkExtras, 'logprobs' | 'citations'>): void {
    this.output.addWhole(this.#folded === null ? message : withoutCalls(message), extras);
    this.output.finish();
  }

  /** The Response has output already. */
  hasItems(): boolean {
    return this.#folded === null ? this.output.hasItems() : this.#folded.length > 0;
  }

  /** Closes the output and emits the terminal event. Gives its Response. */
  end(outcome: Outcome): ResponseResource {
    if (outcome.status === 'failed') return this.fail(outcome.error);
    const { fold } = this.#context.answer;
    if (fold !== null) return this.#endFolded(fold, outcome);
    switch (outcome.status) {
      case 'incomplete':
        return this.#end('incomplete', outcome.reason);
      case 'completed': {
        const unrunnable =
          this.output.unrunnableCall() ?? this.#missingCall(outcome.hasCalled) ?? this.#reasoningAlone();
        if (unrunnable !== null) return this.fail(unrunnable);
        // OpenAI's servers cannot end so; ours may, and the text is an answer all the same.
        if (this.#context.requiresCall && this.output.items.calls === 0) this.repairs.add('tool_choice_ignored');
        // None is left out: nobody can say which one the model could do without.
        if (!this.#context.echo.parallel_tool_calls && this.output.items.calls > 1)
          this.repairs.add('parallel_tool_calls_ignored');
        this.output.ensureOutput();
        return this.#end('completed', null);
      }
    }
  }

  /** Ends with `error`, nested and flat (choice D3), and `response.failed`; what was produced is kept. */
  fail(error: ApiError): ResponseResource {
    this.output.fail();
    this.status = 'failed';
    this.failure = error;
    const { code, message, param } = error;
    const response = this.#resource(null);
    this.final = response;
    this.log.emit({ type: 'error', error: { ...error.toObject(), ...headersOf(error) }, code, message, param });
    this.log.emit({ type: 'response.failed', response });
    return response;
  }

  /** Ends with `error` in few bytes: what was produced is dropped, and the Response repeats nothing large of its request. */
  shed(error: ApiError): void {
    this.#started = true;
    this.#context = { ...this.#context, echo: { ...this.#context.echo, instructions: null, tools: [], metadata: {} } };
    this.log.take();
    this.extensions?.drop();
    this.log.held.bytes = 0;
    this.output = new OutputWriter(new EventLog(this.#context, new HeldBytes(), false), this.#context, this.repairs);
    this.fail(error);
  }

  /** Tokens of the output so far, estimated; `usage` has the upstream's own count once it is there. */
  outputTokens(): number {
    return this.#outputLog.tokens();
  }

  report(finishReason: string | null, unread: readonly UnknownType[]): Omit<AnswerReport, 'model'> {
    return {
      error: this.failure,
      status: this.status,
      usage: this.usage,
      outputTokens: this.outputTokens(),
      finishReason,
      unread,
      repairs: [...this.repairs],
    };
  }

  /** An agent would take an answer without the call it ends with for the end of its task (vllm#53255). */
  #missingCall(hasCalled: boolean): ApiError | null {
    if (!hasCalled || this.output.hasAnswer()) return null;
    return ApiError.ofModel(
      'invalid_tool_call',
      'The upstream ended the answer for a tool call, but sent no tool call.',
    );
  }

  /** The API's word for the upstream's tier: some SDKs (async-openai, openai-java) refuse a Response with any other. */
  #tier(): string | null {
    const { serviceTiers } = this.#context.profile;
    const given = this.serviceTier;
    if (given === null || given === '') return null;
    for (const [tier, word] of Object.entries(serviceTiers))
      if (word === given && tiersOfAnswers.has(tier)) return tier;
    if (tiersOfAnswers.has(given)) return given;
    this.repairs.add('service_tier');
    return null;
  }

  /** OpenAI's API completes it; agents stop at it without a word. */
  #reasoningAlone(): ApiError | null {
    if (this.output.hasAnswer() || !this.output.hasItems()) return null;
    this.repairs.add('reasoning_alone');
    if (this.#context.reasoningAlone === 'completed') return null;
    return ApiError.ofModel('reasoning_alone', 'The model’s answer contains only reasoning: no text and no tool call.');
  }

  #end(status: 'completed' | 'incomplete', reason: IncompleteReason | null): ResponseResource {
    this.output.close(status);
    this.status = status;
    const response = this.#resource(reason);
    this.final = response;
    this.log.emit({ type: `response.${status}`, response });
    return response;
  }

  /** The output says nothing before it is whole; then it is other items. */
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

  /** With all its fields (docs/answers.md §1.1): the body of a JSON answer, and in every lifecycle event. */
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

/** Leaves out the calls of a summary for compaction: no tool was offered to the model that wrote it. */
function withoutCalls(message: LooseMessage): LooseMessage {
  if (message.tool_calls == null && message.function_call == null) return message;
  return { ...message, tool_calls: undefined, function_call: undefined };
}

/** Returns the headers that an error would have as an answer of its own; most errors have no headers. */
function headersOf({ headers }: ApiError): WithHeaders {
  return Object.keys(headers).length === 0 ? {} : { headers };
}
