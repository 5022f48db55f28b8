import type { Profile } from '../../../upstream/profile.ts';
import { fillInReasoning, leaveOutOldReasoning, signFirstCall } from './adapt-reasoning.ts';
import { fillNullContent, moveToolMedia, nameToolMessages, splitCalls } from './adapt-tool-messages.ts';
import {
  addUser,
  alternateRoles,
  beginWithUser,
  fillSilentAssistant,
  insertAssistantAfterTool,
  markPrefix,
} from './alternate-roles.ts';
import { leaveOutEmptyTurns } from './leave-out-empty-turns.ts';
import { mergeSystemMessages, renameDeveloperRole } from './merge-system-messages.ts';
import type { MessagePass, Messages } from './message-pass.ts';
import { rewriteCallIds } from './rewrite-call-ids.ts';

/**
 * The quirks that are a step over all messages, with the servers that have them, in the order in which they are applied (those of
 * one message are in `turn-to-messages.ts`, `items-to-messages.ts` and `parse-content.ts`): first those that need the
 * conversation as the client sent it, then those that move parts and split messages, then those about whole turns, and last those
 * that fill in what is still missing, in messages that earlier passes made too.
 */
export const messagePasses: readonly MessagePass[] = [
  pass(
    leaveOutOldReasoning,
    ({ reasoningScope: scope, reasoningReplay }) => scope === 'tool_turns' && reasoningReplay !== 'none',
  ),
  pass(signFirstCall, (profile) => profile.geminiSignatures),
  pass(leaveOutEmptyTurns, () => true),
  pass(rewriteCallIds, ({ callIdForm }) => callIdForm !== 'any'),
  pass(nameToolMessages, (profile) => profile.toolMessageName),
  pass(moveToolMedia, () => true),
  pass(renameDeveloperRole, (profile) => profile.developerRole === 'system'),
  pass(mergeSystemMessages, (profile) => profile.systemMessages !== 'anywhere'),
  pass(splitCalls, (profile) => profile.singleCalls),
  pass(fillNullContent, (profile) => profile.emptyAssistantContent === 'empty'),
  pass(insertAssistantAfterTool, (profile) => profile.assistantAfterTool || profile.alternateRoles),
  pass(alternateRoles, (profile) => profile.alternateRoles),
  pass(beginWithUser, (profile) => profile.alternateRoles),
  pass(addUser, (profile) => profile.needsUser),
  pass(fillSilentAssistant, (profile) => profile.alternateRoles),
  pass(markPrefix, (profile) => profile.assistantPrefix),
  pass(fillInReasoning, (profile) => profile.reasoningBackfill !== null && profile.reasoningReplay !== 'none'),
];

function pass(run: MessagePass['run'], appliesTo: MessagePass['appliesTo']): MessagePass {
  return { name: run.name, appliesTo, run };
}

/** The messages in the form the profile's server takes. */
export function applyPasses(messages: Messages, profile: Profile): Messages {
  let current = messages;
  for (const { appliesTo, run } of messagePasses) if (appliesTo(profile)) current = run(current, profile);
  return current;
}
