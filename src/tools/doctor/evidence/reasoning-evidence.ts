import type { ProfileFlags } from '../../../filter/upstream/profile.ts';
import { type Findings, factOf, found } from '../probe-types.ts';
import { efforts, replayFields } from '../probes/reasoning-probes.ts';
import { type Evidence, type EvidenceRow, equal, failed, type Subject } from './evidence.ts';

/** Flags of reasoning: effort, where it is read, and where it is sent back. */
export const reasoningEvidence: readonly EvidenceRow[] = [
  { flags: ['reasoningEffort', 'effortRules'], probes: efforts.map((effort) => `effort_${effort}`), read: readEfforts },
  movedOut('reasoning_split', { reasoning_split: true }),
  movedOut('reasoning_format', { reasoning_format: 'parsed' }, 'reasoning_split'),
  {
    flags: ['thinkTags', 'implicitThink'],
    probes: ['text', 'reasoning'],
    read(findings) {
      const tags = factOf(findings, 'tags');
      // A field that moves it out of the text does better.
      if (
        tags === undefined ||
        found(findings, 'reasoning_split', 'works') ||
        found(findings, 'reasoning_format', 'works')
      )
        return null;
      const implicit = tags === 'closing';
      return {
        from: 'reasoning',
        fits: ({ thinkTags, implicitThink }) => thinkTags !== 'off' && implicitThink === implicit,
        change: ({ thinkTags }) => ({ thinkTags: thinkTags === 'off' ? 'auto' : thinkTags, implicitThink: implicit }),
      };
    },
  },
  {
    flags: ['reasoningTokensExtra'],
    probes: ['reasoning'],
    read: (findings) =>
      factOf(findings, 'reasoningExtra') === true ? equal('reasoning', { reasoningTokensExtra: true }) : null,
  },
  { flags: ['reasoningReplay'], probes: ['reasoning_replay'], read: readReplay },
];

/** Fields that every request is sent with, where they move reasoning out of the text and no better ones do. */
function movedOut(probe: string, fields: Readonly<Record<string, string | boolean>>, better?: string): EvidenceRow {
  return {
    flags: ['defaults'],
    probes: [probe],
    read: (findings) =>
      found(findings, probe, 'works') && !(better !== undefined && found(findings, better, 'works'))
        ? {
            from: probe,
            fits: ({ defaults }) => Object.entries(fields).every(([name, value]) => defaults[name] === value),
            change: ({ defaults }) => ({ defaults: { ...defaults, ...fields } }),
          }
        : null,
  };
}

/** The substitute for each effort must be one that is accepted. */
function readEfforts(findings: Findings, { model }: Subject): Evidence | null {
  const known = efforts.filter((effort) => found(findings, `effort_${effort}`, 'works', 'accepted', 'ignored'));
  const refused = efforts.filter((effort) => found(findings, `effort_${effort}`, ...failed));
  if (refused.length === 0) return null;
  const from = refused.map((effort) => `effort_${effort}`).join(', ');
  if (known.length === 0)
    return equal(from, { reasoningEffort: 'none' }, ({ reasoningEffort }) => reasoningEffort !== 'reasoning_effort');
  const replacements = Object.fromEntries(refused.map((effort) => [effort, nearest(effort, known)]));
  return equal(
    from,
    { effortRules: [{ models: /./, efforts: replacements }] },
    (flags) =>
      flags.reasoningEffort !== 'reasoning_effort' ||
      refused.every((effort) => known.some((other) => other === replacedBy(flags, effort, model))),
  );
}

function replacedBy({ effortRules }: ProfileFlags, effort: string, model: string): string | undefined {
  return effortRules.find(({ models }) => models.test(model))?.efforts[effort];
}

/** The closest accepted effort, the greater of two; `none` replaces only the lowest. */
function nearest(effort: (typeof efforts)[number], known: readonly (typeof efforts)[number][]): string {
  const at = efforts.indexOf(effort);
  const thinking = known.filter((other) => other !== 'none');
  const candidates = effort === 'minimal' || thinking.length === 0 ? known : thinking;
  const [best = 'low'] = candidates.toSorted((one, other) => {
    const distance = Math.abs(efforts.indexOf(one) - at) - Math.abs(efforts.indexOf(other) - at);
    return distance === 0 ? efforts.indexOf(other) - efforts.indexOf(one) : distance;
  });
  return best;
}

function readReplay(findings: Findings): Evidence | null {
  const read = factOf(findings, 'replayRead') ?? [];
  const refused = factOf(findings, 'replayRefused') ?? [];
  const [first] = replayFields.filter((field) => read.includes(field));
  if (first !== undefined) {
    const fitting: readonly string[] = [...read, ...(refused.length === 0 ? ['both'] : [])];
    return equal('reasoning_replay', { reasoningReplay: first }, ({ reasoningReplay }) =>
      fitting.includes(reasoningReplay),
    );
  }
  if (refused.length === 0) return null;
  const refuses = (flag: string) => refused.includes(flag) || flag === 'both';
  return equal('reasoning_replay', { reasoningReplay: 'none' }, ({ reasoningReplay }) => !refuses(reasoningReplay));
}
