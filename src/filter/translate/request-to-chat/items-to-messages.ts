import type { Profile } from '../../upstream/profile.ts';
import type { ChatMessage, OpaqueFields } from '../../wire/schema/chat-request.ts';
import type { Growth } from '../shared/growth.ts';
import type { InputMessage, InputReasoning } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import { AssistantMessage, buildChatMessage, joinText, writeAssistant } from './assistant-messages.ts';
import { type EarlierReasoning, readEarlierReasoning } from './earlier-reasoning.ts';
import type { PairedCall, PairedItem } from './pair-calls.ts';
import { applyPasses } from './passes/message-passes.ts';
import type { ToolTable } from './tools-to-chat.ts';

/**
 * Items as Chat messages: reasoning, text and calls that belong together are one assistant message, followed directly by the outputs in
 * the order of the calls, whatever stood between them. `leading` are system messages that come first.
 */
export function translateMessages(
  items: readonly PairedItem[],
  leading: readonly InputMessage[],
  settings: TranslationSettings,
  tools: ToolTable,
  growth: Growth,
): readonly ChatMessage[] {
  const { profile } = settings;
  const messages = leading.map((message) => buildChatMessage(message, profile));
  const earlier = new Map(
    items.flatMap((item) => (item.kind === 'reasoning' ? [[item, readEarlierReasoning(item, settings)]] : [])),
  );
  const opaque = findOpaqueFields(items, earlier);
  let open: AssistantMessage | undefined;
  /** Reasoning behind the last text or call of the open message. It led to the next text or call, which may begin another message. */
  let thinking: EarlierReasoning[] = [];

  for (const item of items) {
    switch (item.kind) {
      case 'reasoning': {
        const read = earlier.get(item) as EarlierReasoning;
        carry(read, item);
        thinking.push(read);
        break;
      }
      case 'message':
        if (item.role === 'assistant') addAssistant(item);
        else addOther(item);
        break;
      case 'call':
        if (open?.answered || (open?.deferred.length && thinking.length > 0)) close();
        reopen().addCall(item);
        break;
      case 'answer':
        if (open?.waiting.delete(item.call)) reopen().answered = true;
        break;
    }
  }
  end();
  return applyPasses(messages, profile);

  /** The open message, or a new one, with the reasoning that led to what it gets now. */
  function reopen(): AssistantMessage {
    open ??= new AssistantMessage();
    for (const read of thinking) open.reasoning.push(read);
    thinking = [];
    return open;
  }

  /** Text that is repeated too often is refused here, before the passes join and copy it. */
  function put(message: ChatMessage): void {
    growth.add(message, 'input');
    messages.push(message);
  }

  function close(): void {
    for (const message of open === undefined ? [] : writeAssistant(open, profile, tools, opaque)) put(message);
    open = undefined;
  }

  /** Reasoning that nothing follows belongs to the open message, or is a message by itself where that has its outputs. */
  function end(): void {
    if (thinking.length > 0) {
      if (open?.answered) close();
      reopen();
    }
    close();
  }

  /** A message between calls and their outputs waits for the outputs. */
  function addOther(item: InputMessage): void {
    if (open !== undefined && open.waiting.size > 0) {
      reopen().deferred.push(item);
      return;
    }
    end();
    put(buildChatMessage(item, profile));
  }

  /**
   * Words between calls and their outputs belong to the message with the calls. Behind the outputs they would be the last thing said, and
   * the model would continue them instead of answering; newer Claude models refuse such a request (kilocode#13748).
   * A message that waits for the outputs came before the words, and so it comes before the calls.
   */
  function addAssistant(item: InputMessage): void {
    if (open !== undefined && open.waiting.size > 0) {
      for (const other of open.deferred.splice(0)) put(buildChatMessage(other, profile));
    } else if (open !== undefined && (open.text !== null || open.refusal !== null || open.answered)) close();
    addWords(reopen(), item, profile);
  }
}

function addWords(open: AssistantMessage, item: InputMessage, { refusalField }: Profile): void {
  carry(open, item, 'content');
  carryKeys(open, item, ['content']);
  const refusals = item.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
  const text = joinText(item.content);
  if (refusals.length > 0) {
    open.refusal = (open.refusal ?? '') + refusals.join('');
    if (refusalField) {
      carry(open, item, 'refusal');
      carryKeys(open, item, [], { refusal: 'content' });
    }
  }
  if (refusals.length === 0 || text !== '') open.text = (open.text ?? '') + text;
}

/**
 * The fields that the upstream wants back with each call. The reasoning item that carries them is the last one before the call, or else
 * one behind it: a picture that the model made, or an output right behind its call, divides what was one message of the model.
 */
function findOpaqueFields(
  items: readonly PairedItem[],
  earlier: ReadonlyMap<InputReasoning, EarlierReasoning>,
): ReadonlyMap<PairedCall, OpaqueFields> {
  const found = new Map<PairedCall, OpaqueFields>();
  if (earlier.size === 0) return found;
  const unclaimed = new Map<string, OpaqueFields>();
  const unsigned = new Map<string, PairedCall>();
  for (const item of items) {
    if (item.kind === 'reasoning') {
      for (const [callId, fields] of Object.entries(earlier.get(item)?.fields ?? {})) unclaimed.set(callId, fields);
    } else if (item.kind === 'call') {
      const fields = unclaimed.get(item.callId);
      unclaimed.delete(item.callId);
      if (fields === undefined) unsigned.set(item.callId, item);
      else found.set(item, fields);
    }
  }
  for (const [callId, fields] of unclaimed) {
    const call = unsigned.get(callId);
    if (call !== undefined) found.set(call, fields);
  }
  return found;
}
