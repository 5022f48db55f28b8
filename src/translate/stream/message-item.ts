import type { Logprob, OutputTextPart, RefusalPart, UrlCitation } from '../../schema/response-resource.ts';
import { type CitationList, createCitationList } from '../citations.ts';
import type { NewId } from '../context.ts';
import type { EventLog } from './event-log.ts';
import { createGrowingText, type GrowingText } from './growing-text.ts';
import type { Output } from './output.ts';

/** A message that is being written. */
export interface MessageItem {
  readonly outputIndex: number;
  /** Opens a text part if none is open. Empty text opens it and sends no delta. */
  text(delta: string, logprobs: readonly Logprob[]): void;
  /** Closes an open text part: a refusal is a part of its own. */
  refusal(delta: string): void;
  /** Citations belong to the open text part; without one they are lost. Repeats are left out. */
  cite(citations: readonly UrlCitation[]): void;
  /** The text of the open part. */
  written(): string;
}

type OpenPart =
  | {
      readonly type: 'output_text';
      readonly text: GrowingText;
      readonly logprobs: Logprob[];
      readonly annotations: CitationList;
    }
  | { readonly type: 'refusal'; readonly text: GrowingText };

const noLogprobs: readonly Logprob[] = [];

/** Opens a message at the end of the output. */
export function openMessage(log: EventLog, output: Output, newId: NewId): MessageItem {
  const id = newId('msg');
  const outputIndex = output.add({ id, type: 'message', status: 'in_progress', role: 'assistant', content: [] });
  const content: (OutputTextPart | RefusalPart)[] = [];
  let part: OpenPart | null = null;

  /** Where an event of the open part belongs. */
  function place() {
    return { item_id: id, output_index: outputIndex, content_index: content.length };
  }

  function openText(): OpenPart & { type: 'output_text' } {
    if (part?.type === 'output_text') return part;
    closePart();
    log.emit({
      type: 'response.content_part.added',
      ...place(),
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    });
    const opened: OpenPart & { type: 'output_text' } = {
      type: 'output_text',
      text: createGrowingText(),
      logprobs: [],
      annotations: createCitationList(),
    };
    part = opened;
    return opened;
  }

  function openRefusal(): OpenPart {
    if (part?.type === 'refusal') return part;
    closePart();
    log.emit({ type: 'response.content_part.added', ...place(), part: { type: 'refusal', refusal: '' } });
    const opened: OpenPart = { type: 'refusal', text: createGrowingText() };
    part = opened;
    return opened;
  }

  function closePart(): void {
    if (part === null) return;
    let closed: OutputTextPart | RefusalPart;
    if (part.type === 'output_text') {
      const { logprobs, annotations } = part;
      const text = part.text.toString();
      log.emit({ type: 'response.output_text.done', ...place(), text, logprobs });
      closed = { type: 'output_text', text, annotations: annotations.all, logprobs };
    } else {
      const refusal = part.text.toString();
      log.emit({ type: 'response.refusal.done', ...place(), refusal });
      closed = { type: 'refusal', refusal };
    }
    log.emit({ type: 'response.content_part.done', ...place(), part: closed });
    content.push(closed);
    part = null;
  }

  output.hold(outputIndex, {
    close(status) {
      closePart();
      return { id, type: 'message', status, role: 'assistant', content };
    },
  });

  return {
    outputIndex,
    text(delta, logprobs) {
      const open = openText();
      if (delta === '') return;
      open.text.append(delta);
      for (const logprob of logprobs) open.logprobs.push(logprob);
      log.emit({
        type: 'response.output_text.delta',
        item_id: id,
        output_index: outputIndex,
        content_index: content.length,
        delta,
        logprobs: logprobs.length > 0 ? logprobs : noLogprobs,
      });
    },
    refusal(delta) {
      openRefusal().text.append(delta);
      log.emit({ type: 'response.refusal.delta', ...place(), delta });
    },
    cite(citations) {
      if (part?.type !== 'output_text') return;
      let index = part.annotations.all.length;
      for (const annotation of part.annotations.add(citations))
        log.emit({
          type: 'response.output_text.annotation.added',
          ...place(),
          annotation_index: index++,
          annotation,
        });
    },
    written() {
      return part?.text.toString() ?? '';
    },
  };
}
