import { countOf, isGiven, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type {
  LooseMessage,
  LooseReasoning,
  LooseReasoningDetail,
  LooseThinkingBlock,
} from '../../../wire/schema/chat-completion.ts';
import { readContentTexts } from './content-parts.ts';

export interface ReasoningSource {
  readonly text: string;
  readonly details: readonly LooseReasoningDetail[];
  readonly blocks: readonly LooseThinkingBlock[];
}

/** Reads the reasoning of a message or delta from the first field that has text: others are copies (docs/answers.md §1.4). */
export function readReasoning(message: LooseMessage): ReasoningSource {
  const details = objectsOf<LooseReasoningDetail>(message.reasoning_details);
  const blocks = objectsOf<LooseThinkingBlock>(message.thinking_blocks);
  const text =
    textOf(message.reasoning_content) ||
    readReasoningField(message.reasoning) ||
    textOf(message.reasoning_text) ||
    // An encrypted detail has no text and is only sent back. MiniMax gives `text` without a type.
    details.reduce((text, detail) => text + (textOf(detail.text) || textOf(detail.summary)), '') ||
    (Array.isArray(message.content) ? readContentTexts(message.content).thinking : '') ||
    textOf(message.thinking) ||
    blocks.reduce((text, { thinking }) => text + textOf(thinking), '');
  return { text, details, blocks };
}

/** Reads `reasoning`: a string (vLLM, OpenRouter, Groq, Ollama, LM Studio) or, from some proxies, an object around it. */
function readReasoningField(reasoning: unknown): string {
  if (typeof reasoning === 'string') return reasoning;
  const object = objectOf<LooseReasoning>(reasoning);
  return textOf(object?.text) || textOf(object?.content);
}

type Merged<Entry> = { -readonly [Field in keyof Entry]: Entry[Field] };
type MergedDetail = Merged<LooseReasoningDetail>;

/**
 * Joins the details of a stream's deltas into the array that goes back to the upstream (docs/answers.md B8). Texts of one `index` and type
 * are concatenated; any other field is taken from the latest entry that has it, since the signature comes last. An entry without an
 * index continues the one before it if both have the same type. Encrypted entries arrive whole.
 */
export function mergeReasoningDetails(details: readonly LooseReasoningDetail[]): LooseReasoningDetail[] {
  const merged: MergedDetail[] = [];
  const byIndex = new Map<string, MergedDetail>();
  for (const detail of details) {
    const index = countOf(detail.index);
    const key = `${index} ${textOf(detail.type)}`;
    const last = merged.at(-1);
    const known = index !== null ? byIndex.get(key) : last?.type === detail.type ? last : undefined;
    if (known === undefined || detail.type === 'reasoning.encrypted') {
      const entry = { ...detail };
      byIndex.set(key, entry);
      merged.push(entry);
    } else mergeInto(known, detail);
  }
  return merged;
}

function mergeInto(known: MergedDetail, { text, summary, ...others }: LooseReasoningDetail): void {
  if (isGiven(text)) known.text = typeof text === 'string' ? textOf(known.text) + text : text;
  if (isGiven(summary)) known.summary = typeof summary === 'string' ? textOf(known.summary) + summary : summary;
  Object.assign(known, Object.fromEntries(Object.entries(others).filter(([, value]) => isGiven(value))));
}

/** Joins the pieces of `thinking_blocks`: a block ends with its signature. `redacted_thinking` arrives whole. */
export function mergeThinkingBlocks(blocks: readonly LooseThinkingBlock[]): LooseThinkingBlock[] {
  const merged: Merged<LooseThinkingBlock>[] = [];
  for (const block of blocks) {
    const last = merged.at(-1);
    if (last === undefined || last.type !== block.type || isRedacted(block) || textOf(last.signature) !== '')
      merged.push({ ...block });
    else {
      const thinking = textOf(last.thinking) + textOf(block.thinking);
      const given = Object.entries(block).filter(([, value]) => isGiven(value));
      Object.assign(last, Object.fromEntries(given), { thinking });
    }
  }
  return merged;
}

/** Would a server accept it back? Anthropic refuses a block of an answer that was cut before its signature. */
export function isWholeBlock(block: LooseThinkingBlock): boolean {
  return textOf(isRedacted(block) ? block.data : block.signature) !== '';
}

function isRedacted({ type }: LooseThinkingBlock): boolean {
  return type === 'redacted_thinking';
}
