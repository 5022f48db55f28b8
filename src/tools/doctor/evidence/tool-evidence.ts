import type { ToolChoiceSupport } from '../../../filter/upstream/profile.ts';
import { type Findings, factOf, found, taken } from '../probe-types.ts';
import { type Evidence, type EvidenceRow, equal, failed, shows } from './evidence.ts';

/** Flags of tools, and of their choice. */
export const toolEvidence: readonly EvidenceRow[] = [
  {
    flags: ['tools'],
    probes: ['tool_call', 'tool_stream'],
    read(findings) {
      if (takesNone(findings)) return equal('tool_call', { tools: false });
      // A server that takes tools, whatever the profile says.
      return taken(findings, 'tool_call') ? equal('tool_call', { tools: true }) : null;
    },
  },
  {
    flags: ['effortWithTools'],
    probes: ['tools', 'tools_no_effort'],
    read: (findings) =>
      !takesNone(findings) && taken(findings, 'tools_no_effort')
        ? equal('tools, tools_no_effort', { effortWithTools: { effort: 'none', when: 'offered' } })
        : null,
  },
  beside('tool_call', shows('tool_strict', failed, { strict: false })),
  beside('tool_call', shows('parallel_off', failed, { parallelToolCalls: false })),
  {
    flags: ['customTools'],
    probes: ['tool_custom', 'tool_required'],
    read(findings) {
      if (takesNone(findings) || !found(findings, 'tool_custom', ...failed)) return null;
      if (factOf(findings, 'badArguments') === true && taken(findings, 'tool_strict'))
        return equal('tool_custom, tool_required', { customTools: 'wrapped_strict' });
      return equal('tool_custom', { customTools: 'wrapped' }, ({ customTools }) => customTools !== 'native');
    },
  },
  {
    flags: ['toolChoice'],
    probes: ['tool_required', 'tool_any', 'tool_named', 'tool_allowed', 'tool_none'],
    read: readChoice,
  },
];

/** If everything with a tool is refused, nothing follows for the other fields of the request. */
function takesNone(findings: Findings): boolean {
  return found(findings, 'tool_call', ...failed) && found(findings, 'tool_stream', ...failed);
}

/** The row, if the probe it builds on did not fail. */
function beside(probe: string, row: EvidenceRow): EvidenceRow {
  return {
    ...row,
    read: (findings, subject) => (found(findings, probe, ...failed) ? null : row.read(findings, subject)),
  };
}

/** Each part of the flag counts only where its probe showed something. */
function readChoice(findings: Findings): Evidence | null {
  if (takesNone(findings)) return null;
  // If the model never calls a tool, it shows nothing that it does not with `tool_choice`.
  const calls = found(findings, 'tool_call', 'works') || found(findings, 'tool_required', 'works');
  const lacks = (name: string) => found(findings, name, ...failed) || (calls && found(findings, name, 'ignored'));
  const works = (name: string) => found(findings, name, 'works');
  const known: Partial<{ -readonly [Part in keyof ToolChoiceSupport]: ToolChoiceSupport[Part] }> = {};
  if (works('tool_required')) known.required = 'required';
  else if (works('tool_any')) known.required = 'any';
  else if (lacks('tool_required')) known.required = null;
  if (works('tool_named')) known.named = true;
  else if (lacks('tool_named')) known.named = false;
  if (works('tool_allowed')) known.allowed = true;
  else if (lacks('tool_allowed')) known.allowed = false;
  if (found(findings, 'tool_none', ...failed) && known.required === null) known.sent = false;
  if (Object.keys(known).length === 0) return null;
  const parts = Object.keys(known) as (keyof ToolChoiceSupport)[];
  // A profile that does not send the field depends on none of its values.
  const fits = (choice: ToolChoiceSupport) =>
    !choice.sent
      ? known.required === null && known.named !== true
      : parts.every((part) => choice[part] === known[part]);
  return {
    from: 'tool_required, tool_named, tool_allowed, tool_none',
    fits: ({ toolChoice }) => fits(toolChoice),
    change: ({ toolChoice }) => ({ toolChoice: { ...toolChoice, sent: known.sent ?? true, ...known } }),
  };
}
