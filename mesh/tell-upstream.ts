import { builtInProfiles } from '../src/filter/index.ts';
import { thisCommand } from './command-name.ts';
import { chooseModelToShow } from './upstream-check.ts';
import { intervalMs, type UpstreamNews, watchMs } from './watch-upstream.ts';

/** The facts about the mesh and its upstream that the printed lines contain. */
export interface Told {
  /** The base URL that clients connect to. */
  readonly url: string;
  readonly upstream: URL;
  readonly profile: string;
  /** Writes a curl command for a model, which the user can paste. */
  curl(model: string): string;
  /** The lines that name other pages to open in a browser. */
  readonly pages: string;
}

/** Creates the function that prints news of a Chat server. It remembers what it printed and prints a line once. */
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
