import { builtInProfiles } from '../src/filter/index.ts';
import { thisCommand } from './options.ts';
import { chooseModelToShow, type UpstreamState } from './upstream-check.ts';

/** News of a Chat server, in the order of time. */
export type UpstreamNews =
  /** The server answers; `afterMs` counts from the first question. */
  | { readonly type: 'there'; readonly state: UpstreamState; readonly afterMs: number }
  /** The server has not answered yet, or says that it is still loading. */
  | { readonly type: 'awaited' }
  | { readonly type: 'unusable'; readonly state: UpstreamState; readonly problem: string }
  | { readonly type: 'given_up' };

export interface Watch {
  ask(): Promise<UpstreamState>;
  now(): number;
  /** Pauses between two questions. Rejects when nobody waits for news any more. */
  sleep(milliseconds: number): Promise<void>;
}

/** A server that has not answered after this time is reported as awaited. */
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

export interface Told {
  /** The base URL that clients connect to. */
  readonly url: string;
  readonly upstream: URL;
  readonly profile: string;
  curl(model: string): string;
  readonly pages: string;
}

/** Creates the function that prints news of a Chat server. It prints each line once. */
export function createTeller({ url, upstream, profile: chosen, curl, pages }: Told): (news: UpstreamNews) => string {
  const { href } = upstream;
  let isFirst = true;
  let isReady = false;
  let isAwaited = false;

  /** The `ready` line, on which scripts wait. It is printed once, and again after a warning. */
  function ready(): string {
    const line = isReady ? '' : `\nready ${url}\n`;
    isReady = true;
    return line;
  }

  function splitParagraphs(news: UpstreamNews): string[] {
    switch (news.type) {
      case 'awaited':
        isAwaited = true;
        return [
          ready(),
          `${href} has not answered yet; it may still be loading its model. Waiting for its first answer.\n`,
        ];
      case 'there': {
        const { models, profile } = news.state;
        const since = isFirst
          ? ''
          : `\n${href} ${isAwaited ? 'answered' : 'answers now,'} after ${Math.round(news.afterMs / 1000)} s.`;
        return [
          since,
          writeList(models),
          ready(),
          `${curl(chooseModelToShow(models) ?? 'MODEL')}\n`,
          writeProposal(profile, chosen),
        ];
      }
      case 'unusable': {
        const { models } = news.state;
        isReady = false;
        return [
          writeList(models),
          `\nWARNING ${url} is open, but its Chat server cannot be used: ${href}: ${news.problem}\n`,
          `${curl(chooseModelToShow(models) ?? 'MODEL')}\n`,
          isFirst
            ? `${thisCommand.plain} asks it again every ${intervalMs / 1000} s, for ${watchMs / 60_000} minutes.\n`
            : '',
        ];
      }
      case 'given_up':
        return [`${href} did not answer in time. Run ${thisCommand.plain} again once it answers.\n`];
    }
  }

  return (news) => {
    const paragraphs = [...splitParagraphs(news), isFirst ? pages : ''];
    isFirst = false;
    return paragraphs.filter((paragraph) => paragraph !== '').join('\n');
  };

  function writeList(models: readonly string[]): string {
    if (models.length === 0) return '';
    return `\n${href} has ${models.slice(0, 8).join(', ')}${models.length > 8 ? `, … (${models.length})` : ''}`;
  }
}

/** Proposes the built-in profile for the engine that the server says it is; empty if nothing is to be changed. */
function writeProposal(profile: string | null, chosen: string): string {
  const row = builtInProfiles.get(profile ?? '');
  if (row === undefined || profile === chosen || !builtInProfiles.has(chosen)) return '';
  const flags = Object.keys(row.reasons).join(', ');
  const instead = chosen === 'generic' ? '' : `, and the profile is ${chosen}`;
  return `The server says that it is ${profile}${instead}. --profile ${profile} sets for it: ${flags} (docs/upstreams.md).\n`;
}
