import { type CallForm, callFormOf, callForms, limitFound } from '../chat-body.ts';
import { type Findings, found, taken } from '../probe-types.ts';
import { type EvidenceRow, equal, type Flags, failed, shows } from './evidence.ts';

/** Flags of the stream's usage, and of the messages of a conversation. */
export const turnEvidence: readonly EvidenceRow[] = [
  {
    flags: ['maxTokensField'],
    probes: ['max_tokens', 'max_completion_tokens', 'max_tokens_short', 'max_completion_tokens_short'],
    read(findings) {
      const [older, newer] = [rankOf(findings, 'max_tokens'), rankOf(findings, 'max_completion_tokens')];
      if (older === newer) return null;
      const better = older > newer ? 'max_tokens' : 'max_completion_tokens';
      return equal('max_tokens, max_completion_tokens', { maxTokensField: better });
    },
  },
  {
    flags: ['includeUsage'],
    probes: ['stream', 'stream_usage'],
    read(findings) {
      if (found(findings, 'stream_usage', 'works')) return equal('stream_usage', { includeUsage: true });
      if (!taken(findings, 'stream') || !found(findings, 'stream_usage', ...failed, 'ignored')) return null;
      return equal('stream_usage', { includeUsage: false });
    },
  },
  ofCallForm('tool_result_empty', ({ content }) => content === '', { emptyAssistantContent: 'empty' }),
  ofCallForm('tool_result_ids', ({ nineCharacterIds }) => nineCharacterIds, { callIdForm: 'alphanumeric_9' }),
  ofCallForm('tool_result_signed', ({ signature }) => signature, { geminiSignatures: true }),
  shows('two_users', failed, { alternateRoles: true }),
  shows('assistant_first', failed, { alternateRoles: true }),
  shows(
    'user_after_tool',
    failed,
    { assistantAfterTool: true },
    // Alternation repairs this as well.
    ({ assistantAfterTool, alternateRoles }) => assistantAfterTool || alternateRoles,
  ),
  shows('two_calls', failed, { singleCalls: true }),
  {
    flags: ['stubTools'],
    probes: ['calls_without_tools', 'user_after_tool'],
    read: (findings) =>
      found(findings, 'calls_without_tools', ...failed) && taken(findings, 'user_after_tool')
        ? equal('calls_without_tools', { stubTools: true })
        : null,
  },
  shows('developer', failed, { developerRole: 'system' }),
  shows('no_user', failed, { needsUser: true }),
  shows(
    'assistant_alone',
    failed,
    { needsUser: true },
    // Alternation puts a user in front of an assistant.
    ({ needsUser, alternateRoles }) => needsUser || alternateRoles,
  ),
  shows('text_parts', failed, { arrayContent: false }),
  {
    flags: ['systemMessages'],
    probes: ['two_systems', 'system_later'],
    read(findings) {
      if (found(findings, 'system_later', ...failed)) return equal('system_later', { systemMessages: 'leading_only' });
      if (!found(findings, 'two_systems', ...failed)) return null;
      return equal(
        'two_systems',
        { systemMessages: 'merge_leading' },
        ({ systemMessages }) => systemMessages !== 'anywhere',
      );
    },
  },
];

/** What the form of a finished call that was taken shows. */
function ofCallForm(from: string, shown: (form: CallForm) => boolean, wanted: Flags): EvidenceRow {
  return {
    flags: Object.keys(wanted) as (keyof Flags)[],
    probes: [...callForms.keys()],
    read(findings) {
      const form = callFormOf(findings);
      return form !== null && shown(form) ? equal(from, wanted) : null;
    },
  };
}

function rankOf(findings: Findings, name: 'max_tokens' | 'max_completion_tokens'): number {
  if (limitFound(findings, name, 'works')) return 2;
  return limitFound(findings, name, 'accepted') ? 1 : 0;
}
