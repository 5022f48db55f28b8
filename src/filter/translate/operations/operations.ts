import { catalog } from './catalog.ts';
import { compact } from './compaction.ts';
import { inputTokens } from './input-tokens.ts';
import type { Operation } from './operation.ts';
import { responses } from './responses.ts';

/** Every operation that has a path of its own. */
export const operations: readonly Operation[] = [responses, compact, inputTokens, catalog];
