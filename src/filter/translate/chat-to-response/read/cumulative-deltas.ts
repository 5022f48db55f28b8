import { countOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type {
  LooseContentPart,
  LooseCustomCall,
  LooseFunctionCall,
  LooseMessage,
  LooseReasoningDetail,
  LooseToolCall,
} from '../../../wire/schema/chat-completion.ts';
import { type HeldBytes, ownCopy, readWord } from '../../shared/held-bytes.ts';

const partFields = ['text', 'thinking', 'summary', 'refusal'] as const;
const textFields = ['content', 'refusal', 'reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;

/** Finds what is new in the deltas of a server that repeats all text, arguments or details so far in each delta. */
export class CumulativeDeltas {
  readonly #held: HeldBytes;
  /** What each place of a delta has said so far: a text, or the id of a call. */
  readonly #before = new Map<string, string>();

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  newIn(delta: LooseMessage, choice: number): LooseMessage {
    const own: { -readonly [Field in keyof LooseMessage]: unknown } = {
      ...this.#newTexts(delta, textFields, `${choice}`),
    };
    if (Array.isArray(delta.content))
      own.content = delta.content.map((part, at) => this.#newInPart(part, `${choice} ${at}`));
    const legacy = objectOf<LooseFunctionCall>(delta.function_call);
    if (legacy !== null) own.function_call = this.#newTexts(legacy, ['arguments'], `${choice} call`);
    if (Array.isArray(delta.tool_calls))
      own.tool_calls = objectsOf<LooseToolCall>(delta.tool_calls).map((call) => this.#newInCall(call, choice));
    if (Array.isArray(delta.reasoning_details)) {
      const details = objectsOf<LooseReasoningDetail>(delta.reasoning_details);
      own.reasoning_details = details.map((detail) =>
        this.#newTexts(
          detail,
          ['text', 'summary'],
          `${choice} detail ${countOf(detail.index)} ${readWord(detail.type)}`,
        ),
      );
    }
    return own;
  }

  /** The object with what is new in its texts; `place` tells it from others of the answer. */
  #newTexts<Value extends object>(value: Value, fields: readonly (keyof Value & string)[], place: string): Value {
    let own = value;
    for (const field of fields) {
      const text = textOf(value[field]);
      if (text !== '') own = { ...own, [field]: this.#newText(`${place} ${field}`, text) };
    }
    return own;
  }

  #newInPart(part: unknown, place: string): unknown {
    if (typeof part === 'string') return part === '' ? part : this.#newText(place, part);
    const given = objectOf<LooseContentPart>(part);
    return given === null ? part : this.#newTexts(given, partFields, `${place} ${readWord(given.type)}`);
  }

  #newInCall(entry: LooseToolCall, choice: number): LooseToolCall {
    const called = objectOf<LooseFunctionCall>(entry.function);
    const custom = objectOf<LooseCustomCall>(entry.custom);
    const key = `${choice} call ${countOf(entry.index)}`;
    const id = textOf(entry.id);
    // Another call at the same index has texts of its own.
    if (id !== '' && id !== this.#before.get(`${key} id`)) {
      this.#keep(`${key} id`, id);
      for (const field of ['arguments', 'input']) this.#keep(`${key} ${field}`, '');
    }
    return {
      ...entry,
      ...(called !== null && { function: this.#newTexts(called, ['arguments'], key) }),
      ...(custom !== null && { custom: this.#newTexts(custom, ['input'], key) }),
    };
  }

  /** A text that does not begin with the text so far is a new one, after a call for example. */
  #newText(key: string, text: string): string {
    const before = this.#before.get(key) ?? '';
    if (before.startsWith(text)) return '';
    this.#keep(key, text);
    if (!text.startsWith(before)) return text;
    return ownCopy(text.slice(before.length));
  }

  /** Keeps what a place has said, and counts it and the place's name: a server may make up any number of places. */
  #keep(key: string, text: string): void {
    const before = this.#before.get(key);
    if (before === undefined) this.#held.add('delta', key.length);
    this.#held.bytes += text.length - (before ?? '').length;
    this.#before.set(key, text);
  }
}
