import { missingParameter } from '../request/request-errors.ts';
import { summary } from './compaction.ts';
import { defaults } from './defaults.ts';
import type { TranslatedOperation } from './operation.ts';
import { noCall, oneToken } from './prewarm.ts';

/** `POST /v1/responses`: an answer, as JSON or as a stream. */
export const responses: TranslatedOperation = {
  ...defaults,
  path: ['v1', 'responses'],
  of({ endsInTrigger, prewarm, input, instructions }, { prefixCache }) {
    if (prewarm === null) return endsInTrigger ? compactionTrigger : responses;
    return prefixCache && (input?.length || instructions) ? prewarmed : notPrewarmed;
  },
  // `store: true` is refused where fields are parsed, for every operation; a missing one would mean true here alone.
  check({ store }, { omittedStore }) {
    if (store == null && omittedStore === 'reject')
      throw missingParameter('store', 'Nothing is stored here: send "store": false.');
  },
};

/** A request whose input ends in a `compaction_trigger`: its Response has one `compaction` item as output. */
export const compactionTrigger: TranslatedOperation = { ...responses, ...summary, of: () => compactionTrigger };

/** A request for a warm cache and no output, where there is a cache to warm, and where there is none. */
export const prewarmed: TranslatedOperation = { ...responses, ...oneToken, of: () => prewarmed };
export const notPrewarmed: TranslatedOperation = { ...responses, ...noCall, of: () => notPrewarmed };
