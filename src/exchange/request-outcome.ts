import type { ResponseContext } from '../translate/context.ts';
import type { UnknownType } from '../translate/request/dropped.ts';

/** What became of the request, as far as the response leg needs to know. */
export type RequestOutcome =
  | { readonly type: 'open' }
  | { readonly type: 'passed' }
  | {
      readonly type: 'translated';
      readonly context: ResponseContext;
      readonly dropped: readonly string[];
      readonly unknownTypes: readonly UnknownType[];
    };
