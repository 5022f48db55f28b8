import { countOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type {
  LooseFunctionCall,
  LooseMessage,
  LooseReasoningDetail,
  LooseToolCall,
} from '../../../wire/schema/chat-completion.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';

const textFields = ['content', 'reasoning_content', 'reasoning'] as const;

/** Finds what is new in the deltas of a server that repeats, in each, all of the text, arguments or details before it. */
export class CumulativeDeltas {
  readonly #held: HeldBytes;
  /** By field, call or detail. */
  readonly #before = new Map<string, string>();
  readonly #callIds = new Map<string, string>();

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  newIn(delta: LooseMessage): LooseMessage {
    let own = delta;
    for (const field of textFields) {
      const text = delta[field];
      if (typeof text === 'string' && text !== '') own = { ...own, [field]: this.#newText(field, text) };
    }
    if (Array.isArray(delta.tool_calls))
      own = { ...own, tool_calls: objectsOf<LooseToolCall>(delta.tool_calls).map((call) => this.#newInCall(call)) };
    if (Array.isArray(delta.reasoning_details)) {
      const details = objectsOf<LooseReasoningDetail>(delta.reasoning_details);
      own = { ...own, reasoning_details: details.map((detail) => this.#newInDetail(detail)) };
    }
    return own;
  }

  #newInCall(entry: LooseToolCall): LooseToolCall {
    const called = objectOf<LooseFunctionCall>(entry.function);
    const text = textOf(called?.arguments);
    const key = `call ${countOf(entry.index)}`;
    const id = textOf(entry.id);
    // Another call at the same index begins anew.
    if (id !== '' && id !== this.#callIds.get(key)) {
      this.#callIds.set(key, id);
      this.#before.delete(key);
    }
    return text === '' ? entry : { ...entry, function: { ...called, arguments: this.#newText(key, text) } };
  }

  #newInDetail(detail: LooseReasoningDetail): LooseReasoningDetail {
    const own: { -readonly [Field in keyof LooseReasoningDetail]: unknown } = { ...detail };
    for (const field of ['text', 'summary'] as const) {
      const text = textOf(detail[field]);
      if (text !== '') own[field] = this.#newText(`${field} ${countOf(detail.index)} ${textOf(detail.type)}`, text);
    }
    return own;
  }

  /** A text that does not begin with the one before it is another: what follows a call, say. */
  #newText(key: string, text: string): string {
    const before = this.#before.get(key) ?? '';
    if (before.startsWith(text)) return '';
    this.#before.set(key, text);
    this.#held.bytes += text.length - before.length;
    if (!text.startsWith(before)) return text;
    // A slice would keep the whole text alive.
    return JSON.parse(JSON.stringify(text.slice(before.length)));
  }
}
