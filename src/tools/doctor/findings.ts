import type { Facts, Finding, Findings, Probe, Result } from './probe-types.ts';

export const works = findingOf('works');
export const accepted = findingOf('accepted');
export const ignored = findingOf('ignored');
export const refused = findingOf('refused');
export const broken = findingOf('broken');
export const notTested = findingOf('not_tested');

function findingOf(result: Result): (detail: string, facts?: Facts) => Finding {
  return (detail, facts) => ({ result, detail, ...(facts !== undefined && { facts }) });
}

/** Results that show that a server does not support what was asked. */
export const failed: readonly Result[] = ['refused', 'broken'];

/** Results that failed, or whose effect is missing. */
export const lacking: readonly Result[] = [...failed, 'ignored'];

/** Returns what a result of a probe means, in the light of the others; undefined where that needs no words. */
export function meaningOf({ means }: Pick<Probe, 'means'>, result: Result, findings: Findings): string | undefined {
  const meaning =
    means[result] ??
    (failed.includes(result) ? means.failed : undefined) ??
    (lacking.includes(result) ? means.lacking : undefined);
  return typeof meaning === 'function' ? meaning(findings) : meaning;
}

/** The finding of that name has one of these results. */
export function found(findings: Findings, name: string, ...results: readonly Result[]): boolean {
  const result = findings.get(name)?.result;
  return result !== undefined && results.includes(result);
}

/** The first value of that fact, in the order of the probes. */
export function factOf<Name extends keyof Facts>(findings: Findings, name: Name): Facts[Name] | undefined {
  for (const { facts } of findings.values()) if (facts?.[name] !== undefined) return facts[name];
  return undefined;
}

/** The server accepts it: with a visible effect, or at least without an error. */
export function taken(findings: Findings, name: string): boolean {
  return found(findings, name, 'works', 'accepted');
}

/** Joins a message of a server, which may end in a full stop, with a sentence of ours. */
export function twoSentences(said: string, own: string): string {
  return `${said.replace(/\.$/, '')}. ${own}`;
}
