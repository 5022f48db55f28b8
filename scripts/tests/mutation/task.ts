/** What `mutate.ts` and the process that runs the tests tell each other. */

/** What is to be run. */
export interface Task {
  readonly out: string;
  readonly tests: readonly string[];
  /** Units and files of tests that are left out where `numbers` is null. */
  readonly without: readonly string[];
  /** Of the mutants behind switches, those to be tried; null for those that need none. */
  readonly numbers: readonly number[] | null;
  /** The largest of all numbers. */
  readonly last: number;
}

/** A line of `out`. */
export type Line =
  /** A unit or a file that fails without any mistake. */
  | { readonly type: 'unusable'; readonly unit: string; readonly killedBy: string }
  | { readonly type: 'tries'; readonly number: number }
  /**
   * Without `killedBy` it has to be tried in a process of its own: its place is also reached when a module is loaded, where no switch
   * is on, or a test that failed under it fails without it afterwards.
   */
  | { readonly type: 'tried'; readonly number: number; readonly killedBy?: string | null | undefined }
  /** Where `numbers` is null, with the first unit that failed. */
  | { readonly type: 'end'; readonly unit: string | null; readonly killedBy?: string };
