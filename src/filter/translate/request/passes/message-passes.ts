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
 * Every quirk of messages, in the order in which they are applied: first those that need the conversation as the client
 * sent it, then those that move parts and split messages, then those about whole turns, and last those that fill in what is
 * still missing, in messages that earlier passes made too.
 */
export const messagePasses: readonly MessagePass[] = [
  leaveOutOldReasoning,
  signFirstCall,
  leaveOutEmptyTurns,
  rewriteCallIds,
  nameToolMessages,
  moveToolMedia,
  renameDeveloperRole,
  mergeSystemMessages,
  splitCalls,
  fillNullContent,
  insertAssistantAfterTool,
  alternateRoles,
  beginWithUser,
  addUser,
  fillSilentAssistant,
  markPrefix,
  fillInReasoning,
];

/** The messages in the form the profile's server takes. */
export function applyPasses(messages: Messages, profile: Profile): Messages {
  let current = messages;
  for (const pass of passesOf(profile)) current = pass.run(current, profile);
  return current;
}

function passesOf(profile: Profile): readonly MessagePass[] {
  const known = passesOfProfile.get(profile);
  if (known !== undefined) return known;
  const passes = messagePasses.filter((pass) => pass.appliesTo(profile));
  passesOfProfile.set(profile, passes);
  return passes;
}

const passesOfProfile = new WeakMap<Profile, readonly MessagePass[]>();
