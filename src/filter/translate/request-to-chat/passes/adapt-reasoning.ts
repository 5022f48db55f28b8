import type { Profile } from '../../../upstream/profile.ts';
import type { ChatToolCall } from '../../../wire/schema/chat-request.ts';
import { googleExtra, readSignature } from '../../shared/envelopes.ts';
import { type Messages, mapRole } from './message-pass.ts';

/** Leaves out reasoning older than the last question. Runs before passes that make further messages of the user's. */
export function leaveOutOldReasoning(messages: Messages): Messages {
  const lastQuestion = messages.findLastIndex(({ role }) => role === 'user');
  return messages.map((message, index) => {
    if (message.role !== 'assistant' || index >= lastQuestion) return message;
    const { reasoning_content: _content, reasoning: _reasoning, ...others } = message;
    const { reasoning_details: _details, thinking_blocks: _blocks, ...kept } = others;
    return kept;
  });
}

/** Google's documented value tells Gemini that a call was made without a signature. */
const noSignature = 'skip_thought_signature_validator';

/** Signs the first of parallel calls. Gemini signs only that one; calls of another provider have no signature at all. */
export function signFirstCall(messages: Messages): Messages {
  return mapRole(messages, 'assistant', (message) => {
    const [first, ...others] = message.tool_calls ?? [];
    if (first === undefined || isSigned(first) || others.some(isSigned)) return message;
    const unsigned = { ...first, extra_content: { ...first.extra_content, ...googleExtra(noSignature) } };
    return { ...message, tool_calls: [unsigned, ...others] };
  });
}

function isSigned(call: ChatToolCall): boolean {
  const {
    extra_content,
    provider_specific_fields: fields,
    thoughtSignature,
    thought_signature = thoughtSignature,
  } = call;
  return (
    fields !== undefined ||
    thought_signature !== undefined ||
    (extra_content !== undefined && readSignature(extra_content) !== '')
  );
}

export function fillInReasoning(messages: Messages, { reasoningBackfill: backfill }: Profile): Messages {
  if (backfill === null) return messages;
  return mapRole(messages, 'assistant', (message) => {
    const wanted = backfill.on === 'all' || message.tool_calls !== undefined;
    return wanted && message.reasoning_content === undefined
      ? { ...message, reasoning_content: backfill.text }
      : message;
  });
}

/** The messages without the texts that `fillInReasoning` filled in. */
export function withoutBackfill(messages: Messages, text: string): Messages {
  return mapRole(messages, 'assistant', (message) => {
    const { reasoning_content: content, ...kept } = message;
    return content === text ? kept : message;
  });
}
