import { randomUUID } from 'node:crypto';
import type { NewId } from '../translate/context.ts';

/** Random ids with OpenAI's prefixes: `resp_` and 32 hexadecimal digits. */
export const newId: NewId = (prefix) => `${prefix}_${randomUUID().replaceAll('-', '')}`;
