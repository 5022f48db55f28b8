import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { mergeMessages } from './merge-messages.ts';
import { type MessagePass, mapRole, standIn } from './message-pass.ts';

/** After a tool message only an assistant or another tool may speak. */
export const insertAssistantAfterTool: MessagePass = {
  name: 'insertAssistantAfterTool',
  appliesTo: (profile) => profile.assistantAfterTool || profile.alternateRoles,
  run: (messages) =>
    messages.flatMap((message, index) => {
      const isMissing = messages[index - 1]?.role === 'tool' && message.role !== 'assistant' && message.role !== 'tool';
      return isMissing ? [{ role: 'assistant', content: standIn }, message] : [message];
    }),
};

/** Neighbours of one role, user or assistant, are one message. */
export const alternateRoles: MessagePass = {
  name: 'alternateRoles',
  appliesTo: (profile) => profile.alternateRoles,
  run(messages) {
    const runs: [ChatMessage, ...ChatMessage[]][] = [];
    for (const message of messages) {
      const run = runs.at(-1);
      const speaks = message.role === 'user' || message.role === 'assistant';
      if (speaks && run?.[0].role === message.role) run.push(message);
      else runs.push([message]);
    }
    return runs.map(mergeMessages);
  },
};

/** The user speaks before the first assistant. */
export const beginWithUser: MessagePass = {
  name: 'beginWithUser',
  appliesTo: (profile) => profile.alternateRoles,
  run(messages) {
    const first = messages.findIndex(({ role }) => role === 'assistant' || role === 'user');
    return messages[first]?.role === 'assistant' ? messages.toSpliced(first, 0, question) : messages;
  },
};

/** Some message is the user's. */
export const addUser: MessagePass = {
  name: 'addUser',
  appliesTo: (profile) => profile.needsUser,
  run(messages) {
    if (messages.length === 0 || messages.some(({ role }) => role === 'user')) return messages;
    const leading = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? 1 : 0;
    return messages.toSpliced(leading, 0, question);
  },
};

const question: ChatMessage = { role: 'user', content: standIn };

/** An assistant message has text or calls, as templates that count turns demand. */
export const fillSilentAssistant: MessagePass = {
  name: 'fillSilentAssistant',
  appliesTo: (profile) => profile.alternateRoles,
  run: (messages) =>
    mapRole(messages, 'assistant', (message) =>
      message.content === '' && message.tool_calls === undefined ? { ...message, content: standIn } : message,
    ),
};

/** A last assistant message is a prefix to continue only when it is marked as one. */
export const markPrefix: MessagePass = {
  name: 'markPrefix',
  appliesTo: (profile) => profile.assistantPrefix,
  run(messages) {
    const last = messages.at(-1);
    if (last?.role !== 'assistant' || last.tool_calls !== undefined) return messages;
    return messages.with(-1, { ...last, prefix: true });
  },
};
