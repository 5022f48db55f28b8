import type { ExchangeFacts } from '../../src/tools/inspect/recording.ts';
import { noFacts } from '../../src/tools/inspect/store.ts';

/** The facts of an exchange that is running, with nothing else known yet. */
export const recordedFacts: ExchangeFacts = { ...noFacts, profile: 'generic', model: 'm', stream: true };
