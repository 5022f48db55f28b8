import type { ChatMessage } from '../../wire/schema/chat-request.ts';
import { upstreamCallId } from '../shared/call-ids.ts';
import type { Growth } from '../shared/growth.ts';
import type { InputMessage } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import { joinText } from './content-to-chat.ts';
import { earlierReasoningOf } from './earlier-reasoning.ts';
import type { PairedCall, PairedItem } from './pair-calls.ts';
import { applyPasses } from './passes/message-passes.ts';
import type { ToolTable } from './tools-to-chat.ts';
import { AssistantTurn, chatMessageOf, messagesOfTurn } from './turn-to-messages.ts';

/**
 * Items as Chat messages: one assistant message per turn (reasoning, text, calls), followed directly by its outputs in
 * the order of the calls, whatever stood between them, in the form the profile's server takes. `leading` are system
 * messages that come first.
 */
export function translateMessages(
  items: readonly PairedItem[],
  leading: readonly InputMessage[],
  settings: TranslationSettings,
  tools: ToolTable,
  growth: Growth,
): readonly ChatMessage[] {
  const { profile } = settings;
  const messages = leading.map((message) => chatMessageOf(message, profile));
  let turn: AssistantTurn | undefined;

  for (const item of items) {
    switch (item.kind) {
      case 'reasoning': {
        if (turn?.answered || turn?.deferred.length) close();
        const earlier = earlierReasoningOf(item, settings);
        carry(earlier, item);
        openTurn().reasoning.push(earlier);
        break;
      }
      case 'message':
        if (item.role === 'assistant') addAssistant(item);
        else addOther(item);
        break;
      case 'call':
        addCall(item);
        break;
      case 'answer':
        if (turn?.waiting.delete(item.call)) turn.answered = true;
        break;
    }
  }
  close();
  return applyPasses(messages, profile);

  function openTurn(): AssistantTurn {
    turn ??= new AssistantTurn();
    return turn;
  }

  /** The passes join and copy texts: what repeats one is refused before they do. */
  function put(message: ChatMessage): void {
    growth.add(message, 'input');
    messages.push(message);
  }

  function close(): void {
    for (const message of turn === undefined ? [] : messagesOfTurn(turn, profile, tools)) put(message);
    turn = undefined;
  }

  /** A message between calls and their outputs waits for the outputs. */
  function addOther(item: InputMessage): void {
    if (turn !== undefined && turn.waiting.size > 0) {
      turn.deferred.push(item);
      return;
    }
    close();
    put(chatMessageOf(item, profile));
  }

  function addCall(item: PairedCall): void {
    const id = upstreamCallId(item.callId);
    if (turn?.answered || turn?.callIds.has(id)) close();
    const open = openTurn();
    open.calls.push(item);
    open.callIds.add(id);
    if (!item.abandoned) open.waiting.add(item);
  }

  function addAssistant(item: InputMessage): void {
    let open = openTurn();
    const hasContent = open.text !== null || open.refusal !== null;
    if (hasContent || open.answered || open.deferred.length > 0) {
      // Reasoning that came after the first text led to this one.
      const later = open.calls.length === 0 ? open.reasoning.splice(open.reasoningBeforeText) : [];
      close();
      open = openTurn();
      for (const earlier of later) open.reasoning.push(earlier);
    }
    open.reasoningBeforeText = open.reasoning.length;
    carry(open, item, 'content');
    carryKeys(open, item, { content: 'content' });
    const refusals = item.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
    const text = joinText(item.content);
    if (refusals.length > 0 && profile.refusalField) {
      open.refusal = refusals.join('');
      carry(open, item, 'refusal');
      carryKeys(open, item, { refusal: 'content' });
      open.text = text === '' ? null : text;
    } else {
      open.text = text + refusals.join('');
    }
  }
}
