import type {
  Annotation,
  ErrorEventFields,
  ExtensionPart,
  KeptJson,
  Logprob,
  OutputItem,
  OutputTextPart,
  ReasoningTextPart,
  RefusalPart,
  ResponseResource,
  SummaryTextPart,
} from './response-resource.ts';

/** The Response as it stands. Every stream has exactly one event with a final `status`: the terminal one. */
interface LifecycleEvent {
  readonly type:
    | 'response.created'
    | 'response.in_progress'
    | 'response.completed'
    | 'response.incomplete'
    | 'response.failed';
  readonly response: ResponseResource;
}

interface ItemEvent {
  readonly output_index: number;
}
interface InItem extends ItemEvent {
  readonly item_id: string;
}
interface InContent extends InItem {
  readonly content_index: number;
}
interface InSummary extends InItem {
  readonly summary_index: number;
}
interface InCommands extends ItemEvent {
  readonly command_index: number;
}

/** A piece of the output: it counts as tokens, is the first one for the metrics, and is padded on request. */
export interface Delta {
  readonly delta: string;
  /** Random text, if `stream_options.include_obfuscation` asked for it. */
  readonly obfuscation?: string;
}

type ContentPart = OutputTextPart | RefusalPart | ReasoningTextPart | ExtensionPart;

/** An event of an output item waits while an item before that one is open. Every other event is sent at once. */
export type OutputEvent =
  | (ItemEvent & {
      readonly type: 'response.output_item.added' | 'response.output_item.done';
      readonly item: OutputItem;
    })
  | (InContent & {
      readonly type: 'response.content_part.added' | 'response.content_part.done';
      readonly part: ContentPart;
    })
  | (InContent & Delta & { readonly type: 'response.output_text.delta'; readonly logprobs: readonly Logprob[] })
  | (InContent & {
      readonly type: 'response.output_text.done';
      readonly text: string;
      readonly logprobs: readonly Logprob[] | KeptJson;
    })
  | (InContent & {
      readonly type: 'response.output_text.annotation.added';
      readonly annotation_index: number;
      readonly annotation: Annotation;
    })
  | (InContent & Delta & { readonly type: 'response.refusal.delta' })
  | (InContent & { readonly type: 'response.refusal.done'; readonly refusal: string })
  | (InContent & Delta & { readonly type: 'response.reasoning_text.delta' | 'response.reasoning.delta' })
  | (InContent & { readonly type: 'response.reasoning_text.done' | 'response.reasoning.done'; readonly text: string })
  | (InSummary & {
      readonly type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      readonly part: SummaryTextPart;
    })
  | (InSummary & Delta & { readonly type: 'response.reasoning_summary_text.delta' })
  | (InSummary & { readonly type: 'response.reasoning_summary_text.done'; readonly text: string })
  | (InItem & Delta & { readonly type: 'response.function_call_arguments.delta' })
  | (InItem & {
      readonly type: 'response.function_call_arguments.done';
      readonly name: string;
      readonly arguments: string;
    })
  | (InItem & Delta & { readonly type: 'response.custom_tool_call_input.delta' })
  | (InItem & { readonly type: 'response.custom_tool_call_input.done'; readonly input: string })
  | (InCommands & {
      readonly type: 'response.shell_call_command.added' | 'response.shell_call_command.done';
      readonly command: string;
    })
  | (InCommands & Delta & { readonly type: 'response.shell_call_command.delta' });

type ErrorEvent = { readonly type: 'error' } & ErrorEventFields;

/** An event of the upstream's own, named `provider:type`. Its fields are text, so that none is taken for one of ours. */
export interface ExtensionEvent {
  readonly type: `${string}:${string}`;
  /** The fields as in a JSON object, without the braces. */
  readonly fields: string;
}

/**
 * Every event of a stream, without its `sequence_number`, which `event-log.ts` assigns. On a WebSocket, `running-response.ts` numbers the
 * events of an interrupt, `client-message.ts` its `response.steer.failed`, and `turn.ts` the end of a failed response.
 */
export type UnnumberedEvent = LifecycleEvent | OutputEvent | ErrorEvent | ExtensionEvent;

/** An event as it is sent: numbered from 0, without gaps, `error` included. */
export type ResponseStreamEvent = UnnumberedEvent & { readonly sequence_number: number };

export function isDelta<Event extends UnnumberedEvent>(event: Event): event is Event & Delta {
  return 'delta' in event;
}

/** Is the event one of the upstream's own? */
export function isExtension(event: ResponseStreamEvent): event is ExtensionEvent & ResponseStreamEvent {
  return 'fields' in event;
}
