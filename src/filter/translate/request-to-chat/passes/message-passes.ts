import type { Profile } from '../../../upstream/profile.ts';
import { fillInReasoning, leaveOutOldReasoning, signFirstCall } from './adapt-reasoning.ts';
import { fillNullContent, moveToolMedia, nameToolMessages, splitCalls } from './adapt-tool-messages.ts';
import {
  addUser,
  alternateRoles,
  beginWithUser,
  fillSilentAssistant,
  insertAssistantAfterTool,
  leaveOutEmptyMessages,
  markPrefix,
} from './alternate-roles.ts';
import { mergeSystemMessages, renameDeveloperRole } from './merge-messages.ts';
import type { MessagePass, Messages } from './message-pass.ts';
import { rewriteCallIds } from './rewrite-call-ids.ts';

/**
 * The quirks that are a step over all messages, with the servers that have them, in the order in which they are applied: first the passes
 * that need the conversation as the client sent it, then those that move parts and split messages, then those about the order of roles, and
 * last those that fill in what is still missing, in messages that earlier passes made too. Quirks of one message are in
 * `assistant-messages.ts`, `items-to-messages.ts` and `parse-content.ts`.
 */
export const messagePasses: readonly MessagePass[] = [
  [
    leaveOutOldReasoning,
    ({ reasoningScope: scope, reasoningReplay }) => scope === 'tool_turns' && reasoningReplay !== 'none',
  ],
  [signFirstCall, (profile) => profile.geminiSignatures],
  [leaveOutEmptyMessages, () => true],
  [rewriteCallIds, ({ callIdForm }) => callIdForm !== 'any'],
  [nameToolMessages, (profile) => profile.toolMessageName],
  [moveToolMedia, () => true],
  [renameDeveloperRole, (profile) => profile.developerRole === 'system'],
  [mergeSystemMessages, (profile) => profile.systemMessages !== 'anywhere'],
  [splitCalls, (profile) => profile.singleCalls],
  [fillNullContent, (profile) => profile.emptyAssistantContent === 'empty'],
  [insertAssistantAfterTool, (profile) => profile.assistantAfterTool || profile.alternateRoles],
  [alternateRoles, (profile) => profile.alternateRoles],
  [beginWithUser, (profile) => profile.alternateRoles],
  [addUser, (profile) => profile.needsUser],
  [fillSilentAssistant, () => true],
  [markPrefix, (profile) => profile.assistantPrefix],
  [fillInReasoning, (profile) => profile.reasoningBackfill !== null && profile.reasoningReplay !== 'none'],
];

export function applyPasses(messages: Messages, profile: Profile): Messages {
  let current = messages;
  for (const [run, appliesTo] of messagePasses) if (appliesTo(profile)) current = run(current, profile);
  return current;
}
