import type { Profile } from '../../upstream/profile.ts';
import type { ChatMessage, OpaqueFields } from '../../wire/schema/chat-request.ts';
import type { Growth } from '../shared/growth.ts';
import type { InputMessage, InputReasoning } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import { type EarlierReasoning, earlierReasoningOf } from './earlier-reasoning.ts';
import type { PairedCall, PairedItem } from './pair-calls.ts';
import { applyPasses } from './passes/message-passes.ts';
import type { ToolTable } from './tools-to-chat.ts';
import { AssistantTurn, chatMessageOf, joinText, messagesOfTurn } from './turn-to-messages.ts';

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
  const earlier = new Map(
    items.flatMap((item) => (item.kind === 'reasoning' ? [[item, earlierReasoningOf(item, settings)]] : [])),
  );
  const opaque = opaqueFieldsOfCalls(items, earlier);
  let turn: AssistantTurn | undefined;
  /** Reasoning behind the turn's last text or call: it led to the next, which may begin another turn. */
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
        if (turn?.answered || (turn?.deferred.length && thinking.length > 0)) close();
        openTurn().addCall(item);
        break;
      case 'answer':
        if (turn?.waiting.delete(item.call)) openTurn().answered = true;
        break;
    }
  }
  endTurn();
  return applyPasses(messages, profile);

  /** The turn, with the reasoning that led to what it gets now. */
  function openTurn(): AssistantTurn {
    turn ??= new AssistantTurn();
    for (const read of thinking) turn.reasoning.push(read);
    thinking = [];
    return turn;
  }

  /** The passes join and copy texts: what repeats one is refused before they do. */
  function put(message: ChatMessage): void {
    growth.add(message, 'input');
    messages.push(message);
  }

  function close(): void {
    for (const message of turn === undefined ? [] : messagesOfTurn(turn, profile, tools, opaque)) put(message);
    turn = undefined;
  }

  /** Nothing follows the reasoning that is left: it is the turn's own, or a turn by itself where that has its outputs. */
  function endTurn(): void {
    if (thinking.length > 0) {
      if (turn?.answered) close();
      openTurn();
    }
    close();
  }

  /** A message between calls and their outputs waits for the outputs. */
  function addOther(item: InputMessage): void {
    if (turn !== undefined && turn.waiting.size > 0) {
      openTurn().deferred.push(item);
      return;
    }
    endTurn();
    put(chatMessageOf(item, profile));
  }

  /**
   * Words between calls and their outputs belong to the message with the calls. Behind the outputs they would be the last that
   * was said, and the model would continue them in place of an answer to the outputs; newer Claude models refuse such a request
   * (kilocode#13748). A message that waits for the outputs came before the words, and so it comes before that turn.
   */
  function addAssistant(item: InputMessage): void {
    if (turn !== undefined && turn.waiting.size > 0) {
      for (const other of turn.deferred.splice(0)) put(chatMessageOf(other, profile));
    } else if (turn !== undefined && (turn.text !== null || turn.refusal !== null || turn.answered)) close();
    addWords(openTurn(), item, profile);
  }
}

function addWords(turn: AssistantTurn, item: InputMessage, { refusalField }: Profile): void {
  carry(turn, item, 'content');
  carryKeys(turn, item, { content: 'content' });
  const refusals = item.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
  const text = joinText(item.content);
  if (refusals.length > 0) {
    turn.refusal = (turn.refusal ?? '') + refusals.join('');
    if (refusalField) {
      carry(turn, item, 'refusal');
      carryKeys(turn, item, { refusal: 'content' });
    }
  }
  if (refusals.length === 0 || text !== '') turn.text = (turn.text ?? '') + text;
}

/**
 * The fields that the upstream wants back with each call, from the reasoning item that carries them: the last one before the
 * call, or else one behind it, in whichever message either is. A picture that the model made, or a client that puts each output
 * behind its call, divides what was one message of the model.
 */
function opaqueFieldsOfCalls(
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
