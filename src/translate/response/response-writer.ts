import type { RetainedBytes } from '../../memory/retained-bytes.ts';
import type { ApiError } from '../../schema/api-error.ts';
import type { ResponseResource, ResponseStatus, Usage } from '../../schema/response-resource.ts';
import type { Outcome } from '../chat/finish.ts';
import type { ResponseContext } from '../context.ts';
import { CompactionWriter, compactionOutcome } from './compaction-writer.ts';
import type { EventLog } from './event-log.ts';
import { type AnswerWriter, OutputWriter } from './output-writer.ts';
import { resourceOf } from './resource.ts';

type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Writes one response from `response.created` to its terminal event, whether the upstream answers in chunks or in one piece. */
export class ResponseWriter {
  readonly log: EventLog;
  readonly output: AnswerWriter;
  /** What the upstream has told of itself so far; each event's Response shows it. */
  usage: Usage | null = null;
  model: string | null = null;
  serviceTier: string | null = null;
  readonly #context: ResponseContext;
  readonly #id: string;
  #status: ResponseStatus = 'in_progress';
  #started = false;
  #failure: ApiError | null = null;

  constructor(context: ResponseContext, log: EventLog, retained: RetainedBytes) {
    this.#context = context;
    this.#id = context.newId('resp');
    this.log = log;
    this.output =
      context.kind === 'response'
        ? new OutputWriter(log, context, retained)
        : new CompactionWriter(log, context, retained, () => this.model);
  }

  /** Emits `response.created` and `response.in_progress`, once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.log.emit({ type: 'response.created', response: this.#resource(null) });
    this.log.emit({ type: 'response.in_progress', response: this.#resource(null) });
  }

  /** Closes the output and emits the terminal event. Gives its Response. */
  end(given: Outcome): ResponseResource {
    const outcome = this.#context.kind === 'response' ? given : compactionOutcome(given);
    switch (outcome.status) {
      case 'failed':
        return this.fail(outcome.error);
      case 'incomplete':
        return this.#end('incomplete', outcome.reason);
      case 'completed': {
        const unrunnable = this.output.unrunnableCall();
        if (unrunnable !== null) return this.fail(unrunnable);
        this.output.ensureOutput();
        return this.#end('completed', null);
      }
    }
  }

  /**
   * Ends with `error` and `response.failed`; what was produced is kept. The `error` event has the specification's nested
   * form and OpenAI's flat one (decision D3).
   */
  fail(error: ApiError): ResponseResource {
    this.output.fail();
    this.#status = 'failed';
    this.#failure = error;
    const { code, message, param } = error;
    const response = this.#resource(null);
    this.log.emit({ type: 'error', error: error.toObject(), code, message, param });
    this.log.emit({ type: 'response.failed', response });
    return response;
  }

  status(): ResponseStatus {
    return this.#status;
  }

  /** The error it failed with, or null. */
  failure(): ApiError | null {
    return this.#failure;
  }

  #end(status: 'completed' | 'incomplete', reason: IncompleteReason | null): ResponseResource {
    this.output.close(status);
    this.#status = status;
    const response = this.#resource(reason);
    this.log.emit({ type: `response.${status}`, response });
    return response;
  }

  #resource(incompleteReason: IncompleteReason | null): ResponseResource {
    return resourceOf(this.#context, {
      id: this.#id,
      status: this.#status,
      output: this.#status === 'in_progress' ? [] : this.output.items(),
      usage: this.usage,
      model: this.model,
      serviceTier: this.serviceTier,
      error: this.#failure,
      incompleteReason,
    });
  }
}
