import { runAndFlagsRead, type VariedRun, variationsOf } from './causes.ts';
import { isSame } from './json-values.ts';
import { type ClientRequest, type RequestRun, runRequest, type Setup, withBody } from './run-request.ts';

/** Runs a request under the other values of each flag and variable. */
export interface WhatIf {
  /**
   * The request with this body under every variation whose result differs from `usual`. Empty for a body that is too large
   * to be translated that often, `times` over; `notes` say so then.
   */
  runs(body: unknown, usual: RequestRun, times?: number): readonly VariedRun[];
  readonly notes: readonly string[];
}

const tooLarge = 'The request is too large to find out which flags and variables decided.';

export function createWhatIf(about: {
  readonly setup: Setup;
  readonly request: ClientRequest;
  readonly body: unknown;
  readonly model: string;
  readonly now: number;
  readonly probedBytes: number;
}): WhatIf {
  const { setup, request, model, now, probedBytes } = about;
  const variations = variationsOf(setup, model, about.body);
  const notes: string[] = [];

  function runs(body: unknown, usual: RequestRun, times = 1): readonly VariedRun[] {
    const affordable = variations.length * request.body.length * times <= probedBytes;
    if (!affordable && notes.length === 0) notes.push(tooLarge);
    if (!affordable || body === undefined) return [];
    const same = withBody(request, body);
    const settled = runAndFlagsRead(setup, model, (changed) => runRequest(changed, same, now));
    // A body without its model may be translated by another rule of the profile.
    const isTheUsual = isSameRun(usual, settled.run);
    return variations.flatMap(({ cause, setup: changed }) => {
      if (isTheUsual && cause.kind === 'flag' && !settled.flags.has(cause.name)) return [];
      const run = runRequest(changed, same, now);
      return isSameRun(usual, run) ? [] : [{ cause, run }];
    });
  }

  return { runs, notes };
}

/** Whether both led to the same request and the same echo, or the same refusal. */
function isSameRun(one: RequestRun, other: RequestRun): boolean {
  if (one.type === 'refused' && other.type === 'refused') return isSame(one.error, other.error);
  if (one.type !== 'sent' || other.type !== 'sent') return one.type === other.type;
  if (one.path !== other.path || !isSame(one.dropped, other.dropped)) return false;
  if (!isSame(one.headerChanges, other.headerChanges)) return false;
  if (!isSame(one.trace.result?.echo, other.trace.result?.echo)) return false;
  // Nearly all variations change nothing.
  return one.body.equals(other.body) || isSame(one.chat, other.chat);
}
