import type { TranslationSettings } from '../settings.ts';
import type { Dropped } from './dropped.ts';

/** What every function that reads a part of a request is given. */
export interface Reading {
  readonly settings: TranslationSettings;
  /** Receives the paths of what is left out. */
  readonly dropped: Dropped;
}
