/** What `mutate.ts` and the process that runs the tests tell each other. */

/** What is to be run. */
export interface Task {
  readonly out: string;
  readonly tests: readonly string[];
  /** Of the mutants behind switches, those to be tried; null for those that need none. */
  readonly numbers: readonly number[] | null;
  /** The largest of all numbers. */
  readonly last: number;
}

/** A line of `out`. */
export type Line =
  | { readonly type: 'unusable'; readonly name: string; readonly problem: string }
  | { readonly type: 'tries'; readonly number: number }
  /** `atLoad`: its place is also reached when a module is loaded, where no switch is on. */
  | {
      readonly type: 'tried';
      readonly number: number;
      readonly killedBy: string | null;
      readonly atLoad: boolean;
    }
  | { readonly type: 'end'; readonly killedBy: string | null };
