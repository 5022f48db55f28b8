import type {
  ErrorEventFields,
  Logprob,
  OutputItem,
  OutputTextPart,
  ReasoningTextPart,
  RefusalPart,
  ResponseResource,
  SummaryTextPart,
  UrlCitation,
} from './response-resource.ts';

/** Where in the output a delta belongs. */
interface InItem {
  readonly item_id: string;
  readonly output_index: number;
}
interface InContent extends InItem {
  readonly content_index: number;
}
interface InSummary extends InItem {
  readonly summary_index: number;
}
/** Random padding, only when `stream_options.include_obfuscation` asked for it. */
interface Padded {
  readonly obfuscation?: string;
}

type ContentPart = OutputTextPart | RefusalPart | ReasoningTextPart;

/** Every event we emit, without its `sequence_number`: that is assigned in exactly one place. */
export type UnnumberedEvent =
  | {
      readonly type:
        | 'response.created'
        | 'response.in_progress'
        | 'response.completed'
        | 'response.incomplete'
        | 'response.failed';
      readonly response: ResponseResource;
    }
  | {
      readonly type: 'response.output_item.added' | 'response.output_item.done';
      readonly output_index: number;
      readonly item: OutputItem;
    }
  | (InContent & {
      readonly type: 'response.content_part.added' | 'response.content_part.done';
      readonly part: ContentPart;
    })
  | (InContent &
      Padded & {
        readonly type: 'response.output_text.delta';
        readonly delta: string;
        readonly logprobs: readonly Logprob[];
      })
  | (InContent & {
      readonly type: 'response.output_text.done';
      readonly text: string;
      readonly logprobs: readonly Logprob[];
    })
  | (InContent & {
      readonly type: 'response.output_text.annotation.added';
      readonly annotation_index: number;
      readonly annotation: UrlCitation;
    })
  | (InContent & Padded & { readonly type: 'response.refusal.delta'; readonly delta: string })
  | (InContent & { readonly type: 'response.refusal.done'; readonly refusal: string })
  | (InContent &
      Padded & { readonly type: 'response.reasoning_text.delta' | 'response.reasoning.delta'; readonly delta: string })
  | (InContent & { readonly type: 'response.reasoning_text.done' | 'response.reasoning.done'; readonly text: string })
  | (InSummary & {
      readonly type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      readonly part: SummaryTextPart;
    })
  | (InSummary & Padded & { readonly type: 'response.reasoning_summary_text.delta'; readonly delta: string })
  | (InSummary & { readonly type: 'response.reasoning_summary_text.done'; readonly text: string })
  | (InItem & Padded & { readonly type: 'response.function_call_arguments.delta'; readonly delta: string })
  | (InItem & {
      readonly type: 'response.function_call_arguments.done';
      readonly name: string;
      readonly arguments: string;
    })
  | (InItem & Padded & { readonly type: 'response.custom_tool_call_input.delta'; readonly delta: string })
  | (InItem & { readonly type: 'response.custom_tool_call_input.done'; readonly input: string })
  | {
      readonly type: 'response.shell_call_command.added' | 'response.shell_call_command.done';
      readonly output_index: number;
      readonly command_index: number;
      readonly command: string;
    }
  | (Padded & {
      readonly type: 'response.shell_call_command.delta';
      readonly output_index: number;
      readonly command_index: number;
      readonly delta: string;
    })
  | ({ readonly type: 'error' } & ErrorEventFields);

/** An event as it leaves: numbered from 0, without gaps, `error` included. */
export type ResponseStreamEvent = UnnumberedEvent & { readonly sequence_number: number };
