import type { ApiError } from '../../wire/schema/api-error.ts';
import type { OutputItem, ResponseResource, ResponseStatus, Usage } from '../../wire/schema/response-resource.ts';
import type { ResponseContext } from '../context.ts';

/** The answer's part of a Response. */
export interface ResourceState {
  /** `resp_…`, minted once per exchange: the upstream's own may be empty, repeat, or change within a stream. */
  readonly id: string;
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly usage: Usage | null;
  /** The upstream's name for the model, or null. */
  readonly model: string | null;
  /** The upstream's tier, or null. */
  readonly serviceTier: string | null;
  /** Set when failed. */
  readonly error: ApiError | null;
  /** Set when incomplete. */
  readonly incompleteReason: 'max_output_tokens' | 'content_filter' | null;
  /** Fields of the upstream's own, none of which is one of ours. */
  readonly extensions: Readonly<Record<string, unknown>> | null;
}

/** The Response resource with all its fields (docs/answers.md §1.1): the body of a JSON answer, and in every lifecycle event. */
export function resourceOf(context: ResponseContext, state: ResourceState): ResponseResource {
  const { echo } = context;
  return {
    id: state.id,
    object: 'response',
    created_at: context.createdAt,
    completed_at: state.status === 'completed' ? Math.max(context.now(), context.createdAt) : null,
    status: state.status,
    error: state.error === null ? null : { code: state.error.code, message: state.error.message },
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    ...echo,
    model: state.model || echo.model,
    previous_response_id: null,
    output: state.output,
    usage: state.usage,
    service_tier: state.serviceTier || echo.service_tier,
    store: false,
    background: false,
    ...state.extensions,
  };
}
