import { answers } from './answers.ts';
import { doors } from './doors.ts';
import type { Family } from './family.ts';
import { requests } from './requests.ts';

/** Every family whose work is counted. */
export const families: readonly Family[] = [...requests, ...answers, ...doors];
