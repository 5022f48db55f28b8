import { missingParameter } from '../request/errors.ts';
import { summary } from './compaction.ts';
import { defaults } from './defaults.ts';
import type { TranslatedOperation } from './operation.ts';

/** `POST /v1/responses`: an answer, as JSON or as a stream. */
export const responses: TranslatedOperation = {
  ...defaults,
  path: ['v1', 'responses'],
  of: ({ endsInTrigger }) => (endsInTrigger ? compactionTrigger : responses),
  check({ store }, { omittedStore }) {
    if (store == null && omittedStore === 'reject')
      throw missingParameter('store', 'Nothing is stored here: send "store": false.');
  },
};

/** The same where the input ends in a `compaction_trigger`: a Response whose output is one `compaction` item. */
export const compactionTrigger: TranslatedOperation = { ...responses, ...summary, of: () => compactionTrigger };
