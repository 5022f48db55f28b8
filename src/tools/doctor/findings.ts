import type { Facts, Finding, Findings, Probe, Result } from './probe-types.ts';

export const works = createFinding('works');
export const accepted = createFinding('accepted');
export const ignored = createFinding('ignored');
export const refused = createFinding('refused');
export const broken = createFinding('broken');
export const notTested = createFinding('not_tested');

function createFinding(result: Result): (detail: string, facts?: Facts) => Finding {
  return (detail, facts) => ({ result, detail, ...(facts !== undefined && { facts }) });
}

/** The results that show that a server does not support what a probe asked for. */
export const failed: readonly Result[] = ['refused', 'broken'];

/** The results of a probe that failed, or whose effect is missing from the answer. */
export const lacking: readonly Result[] = [...failed, 'ignored'];

/** Explains a probe's result in the light of the other findings; undefined if it needs no explanation. */
export function explainResult({ means }: Pick<Probe, 'means'>, result: Result, findings: Findings): string | undefined {
  const meaning =
    means[result] ??
    (failed.includes(result) ? means.failed : undefined) ??
    (lacking.includes(result) ? means.lacking : undefined);
  return typeof meaning === 'function' ? meaning(findings) : meaning;
}

/** Whether the probe of this name ended with one of these results. */
export function hasResult(findings: Findings, name: string, ...results: readonly Result[]): boolean {
  const result = findings.get(name)?.result;
  return result !== undefined && results.includes(result);
}

/** The value of a fact from the first probe that found it. */
export function findFact<Name extends keyof Facts>(findings: Findings, name: Name): Facts[Name] | undefined {
  for (const { facts } of findings.values()) if (facts?.[name] !== undefined) return facts[name];
  return undefined;
}

/** Whether the server accepts what a probe asked for: with a visible effect, or at least without an error. */
export function isAccepted(findings: Findings, name: string): boolean {
  return hasResult(findings, name, 'works', 'accepted');
}

/** Joins a message of a server, which may end in a full stop, with a sentence of ours. */
export function joinSentences(said: string, own: string): string {
  return `${said.replace(/\.$/, '')}. ${own}`;
}
