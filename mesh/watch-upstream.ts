import type { UpstreamState } from './upstream-check.ts';

/** News of a Chat server, in the order of time. */
export type UpstreamNews =
  /** The server answers; `afterMs` counts from the first question. */
  | { readonly type: 'there'; readonly state: UpstreamState; readonly afterMs: number }
  /** The server has not answered yet, or says that it is still loading. */
  | { readonly type: 'awaited' }
  | { readonly type: 'unusable'; readonly state: UpstreamState; readonly problem: string }
  /** The watch is over, and the server is asked no more. */
  | { readonly type: 'given_up' };

export interface Watch {
  /** Sends the server a question, and waits long for its answer. */
  ask(): Promise<UpstreamState>;
  now(): number;
  /** Waits before the server is asked again whether it is there; rejects when nobody needs to know any more. */
  sleep(milliseconds: number): Promise<void>;
}

/** A server that has not answered after so long counts as awaited, and the user is told. */
export const patienceMs = 5000;
export const intervalMs = 2000;
/** After this time no further question is sent. */
export const watchMs = 600_000;

/** Asks a server until it answers, and tells each change. The first news comes after `patienceMs` at the latest. */
export async function* watchUpstream({ ask, now, sleep }: Watch): AsyncGenerator<UpstreamNews, void> {
  const startedAt = now();
  /** The last news that the user was told: a problem, or `awaited`; null before the first. */
  let told: string | null = null;
  for (;;) {
    const answer = ask();
    if (told === null && (await Promise.race([answer, sleep(patienceMs).then(() => null)])) === null) {
      told = 'awaited';
      yield { type: 'awaited' };
    }
    const state: UpstreamState = await answer;
    const { problem, isLoading } = state;
    if (problem === null) {
      yield { type: 'there', state, afterMs: now() - startedAt };
      return;
    }
    const news: string = isLoading ? 'awaited' : problem;
    if (news !== told) yield isLoading ? { type: 'awaited' } : { type: 'unusable', state, problem };
    told = news;
    if (now() - startedAt >= watchMs) break;
    await sleep(intervalMs);
  }
  yield { type: 'given_up' };
}
