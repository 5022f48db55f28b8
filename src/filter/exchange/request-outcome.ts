import type { PassedOperation } from '../translate/operations/operation.ts';
import type { ResponseContext } from '../translate/shared/context.ts';
import type { UnknownType } from '../translate/shared/dropped.ts';

/** The outcome of the request, as far as the response leg needs it. */
export type RequestOutcome =
  /** `unseen`: no message of the request has come. */
  | { readonly type: 'unseen' | 'open' }
  /** `operation`: completes the answer, or null. */
  | { readonly type: 'passed'; readonly operation: PassedOperation | null }
  /** `answered`: the client has its Response, and the upstream was not asked. */
  | {
      readonly type: 'translated' | 'answered';
      readonly context: ResponseContext;
      readonly dropped: readonly string[];
      readonly unknownTypes: readonly UnknownType[];
      /** Estimated input tokens of the upstream's request; null where no model answers it. */
      readonly inputTokens: number | null;
    };
