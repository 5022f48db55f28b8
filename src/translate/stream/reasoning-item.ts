import type { Loose } from '../../schema/chat-completion.ts';
import type { ResponseContext } from '../context.ts';
import { reasoningItemOf } from '../reasoning-item.ts';
import { mergeReasoningDetails } from '../reasoning-source.ts';
import type { EventLog } from './event-log.ts';
import { createGrowingText } from './growing-text.ts';
import type { Output } from './output.ts';

/** A reasoning item that is being written. */
export interface ReasoningItem {
  readonly outputIndex: number;
  text(delta: string): void;
  /** `reasoning_details` entries, as sent: they go back to the upstream in the envelope. */
  addDetails(details: readonly Loose[]): void;
  /** A Gemini thought signature; `callId` gives the `call_id` it belongs to, `''` for the message's own. */
  addSignature(callId: () => string, signature: string): void;
}

/** Opens a reasoning item at the end of the output. Its text goes where decision D2 says. */
export function openReasoning(log: EventLog, output: Output, context: ResponseContext): ReasoningItem {
  const carrier = context.reasoningEvents;
  const id = context.newId('rs');
  const outputIndex = output.add({
    id,
    type: 'reasoning',
    status: 'in_progress',
    summary: [],
    ...(carrier !== 'summary' && { content: [] }),
  });
  const inSummary = { item_id: id, output_index: outputIndex, summary_index: 0 };
  const inContent = { item_id: id, output_index: outputIndex, content_index: 0 };
  const details: Loose[] = [];
  const signatures: { callId: () => string; signature: string }[] = [];
  const written = createGrowingText();

  function openPart(): void {
    if (carrier === 'summary')
      log.emit({
        type: 'response.reasoning_summary_part.added',
        ...inSummary,
        part: { type: 'summary_text', text: '' },
      });
    else log.emit({ type: 'response.content_part.added', ...inContent, part: { type: 'reasoning_text', text: '' } });
  }

  function closePart(text: string): void {
    if (carrier === 'summary') {
      log.emit({ type: 'response.reasoning_summary_text.done', ...inSummary, text });
      log.emit({ type: 'response.reasoning_summary_part.done', ...inSummary, part: { type: 'summary_text', text } });
      return;
    }
    log.emit({
      type: carrier === 'reasoning' ? 'response.reasoning.done' : 'response.reasoning_text.done',
      ...inContent,
      text,
    });
    log.emit({ type: 'response.content_part.done', ...inContent, part: { type: 'reasoning_text', text } });
  }

  output.hold(outputIndex, {
    close(status) {
      const text = written.toString();
      if (text !== '') closePart(text);
      return reasoningItemOf(
        {
          id,
          status,
          text,
          details: mergeReasoningDetails(details),
          signatures: Object.fromEntries(signatures.map(({ callId, signature }) => [callId(), signature])),
        },
        context,
      );
    },
  });

  return {
    outputIndex,
    text(delta) {
      if (written.isEmpty()) openPart();
      written.append(delta);
      switch (carrier) {
        case 'summary':
          log.emit({
            type: 'response.reasoning_summary_text.delta',
            item_id: id,
            output_index: outputIndex,
            summary_index: 0,
            delta,
          });
          return;
        case 'reasoning_text':
          log.emit({ type: 'response.reasoning_text.delta', ...inContent, delta });
          return;
        case 'reasoning':
          log.emit({ type: 'response.reasoning.delta', ...inContent, delta });
          return;
      }
    },
    addDetails: (entries) => {
      for (const entry of entries) details.push(entry);
    },
    addSignature: (callId, signature) => {
      signatures.push({ callId, signature });
    },
  };
}
