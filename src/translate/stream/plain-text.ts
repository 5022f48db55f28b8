import { type Loose, objectOf } from '../../schema/chat-completion.ts';

/**
 * The text of a chunk that is one more piece of text and says nothing else, as nearly all chunks are; null for every
 * other. It saves looking for what two dozen vendors may put beside the text: a field that is null says nothing, and any
 * other that is not known here sends the chunk the general way, which gives the same events.
 */
export function plainTextOf(chunk: Loose, choiceIndex: unknown, serviceTier: string | null): string | null {
  let choices: unknown = null;
  for (const field in chunk) {
    const value = chunk[field];
    switch (field) {
      case 'object':
        if (value === 'error') return null; // vLLM
        break;
      case 'choices':
        choices = value;
        break;
      case 'service_tier':
        if (value !== null && value !== serviceTier) return null;
        break;
      case 'id':
      case 'created':
      case 'model':
      case 'system_fingerprint':
      case 'obfuscation':
        break;
      default:
        if (value !== null) return null;
    }
  }
  if (!Array.isArray(choices) || choices.length !== 1) return null;
  const choice = objectOf(choices[0]);
  return choice === null ? null : textOfChoice(choice, choiceIndex);
}

function textOfChoice(choice: Loose, choiceIndex: unknown): string | null {
  if (choice['index'] !== choiceIndex) return null;
  for (const field in choice) if (field !== 'index' && field !== 'delta' && choice[field] !== null) return null;
  const delta = objectOf(choice['delta']);
  if (delta === null) return null;
  for (const field in delta) if (field !== 'content' && field !== 'role' && delta[field] !== null) return null;
  const content = delta['content'];
  return typeof content === 'string' && content !== '' ? content : null;
}

/** The JSON around the text of plain chunks: a server repeats it with every token. */
export interface TextTemplate {
  /** The text of a chunk that differs from the learned one in nothing else; null for any other. Never throws. */
  match(json: string): string | null;
  /** Learns what stands around `text` in that chunk. `read` gives a chunk's text as `plainTextOf` does. */
  learn(json: string, text: string, read: (chunk: Loose) => string | null): void;
  forget(): void;
}

const contentName = '"content"';
/** No letters a server would put there by itself. */
const probe = '\u2063probe\u2063';
/** A server that writes every chunk differently (`created`, padding) is not worth more. */
const maxAttempts = 16;

/** Spares parsing what was parsed before: the text between the same two halves is all that is read, as a JSON string. */
export function createTextTemplate(): TextTemplate {
  return new LearnedTemplate();
}

class LearnedTemplate implements TextTemplate {
  #head = '';
  #tail = '';
  #attempts = 0;

  match(json: string): string | null {
    const head = this.#head;
    const tail = this.#tail;
    // `startsWith` compares letter by letter, `===` many at a time.
    if (head === '' || json.slice(0, head.length) !== head || json.slice(-tail.length) !== tail) return null;
    const length = json.length - head.length - tail.length;
    if (length > 0 && length <= maxCopied && isPlain(json, head.length, length))
      return json.slice(head.length, head.length + length);
    // Both halves hold their quote.
    return stringOf(json.slice(head.length - 1, json.length - tail.length + 1));
  }

  learn(json: string, text: string, read: (chunk: Loose) => string | null): void {
    if (this.#attempts === maxAttempts) return;
    this.#attempts += 1;
    const quoted = JSON.stringify(text);
    const at = json.indexOf(quoted, json.indexOf(contentName) + contentName.length);
    if (at === -1) return;
    const [before, after] = [json.slice(0, at + 1), json.slice(at + quoted.length - 1)];
    // The same letters may stand elsewhere: only another text in their place tells that this is the place.
    if (read(objectOf(jsonValue(before + probe + after)) ?? {}) !== probe) return;
    this.#head = copyOf(before);
    this.#tail = copyOf(after);
  }

  forget(): void {
    this.#head = '';
  }
}

/** The same letters in memory of their own: what `slice` gives keeps the whole chunk, in its wider letters if it has any. */
function copyOf(slice: string): string {
  return Buffer.from(slice).toString();
}

/** Of more letters V8 makes no copy but a view, which keeps the whole chunk as long as its text. */
const maxCopied = 12;

/** Do these letters, inside a JSON string, stand for themselves? */
function isPlain(json: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    const code = json.charCodeAt(at);
    // A quote, a backslash, a control character.
    if (code === 0x22 || code === 0x5c || code < 0x20) return false;
  }
  return true;
}

function stringOf(json: string): string | null {
  const value = jsonValue(json);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Undefined where it is not JSON. */
function jsonValue(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
