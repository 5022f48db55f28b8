import type { ResponseContext } from '../translate/context.ts';
import type { UnknownType } from '../translate/request/dropped.ts';

/** What became of the request, as far as the response leg needs to know. */
export type RequestOutcome =
  | { readonly type: 'open' }
  /** `isCatalog`: the answer is a list of models that becomes Codex's catalog. */
  | { readonly type: 'passed'; readonly isCatalog: boolean }
  | {
      readonly type: 'translated';
      readonly context: ResponseContext;
      readonly dropped: readonly string[];
      readonly unknownTypes: readonly UnknownType[];
    };
