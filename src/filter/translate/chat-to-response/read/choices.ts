import { isGiven, objectsOf } from '../../../../formats/json/loose.ts';
import {
  type Kind,
  type LooseChoice,
  type LooseChunk,
  type LooseMessage,
  messageKinds,
} from '../../../wire/schema/chat-completion.ts';

/**
 * Takes text, reasoning and calls each from the first choice that has any. `n` is never sent, so further choices are either unrequested
 * alternatives, or parts of one answer: GitHub Copilot puts Claude's text into choice 0 and its calls into choice 1 (ericc-ch/copilot-api).
 */
export class ChoiceParts {
  readonly #owners: Partial<Record<Kind, number>> = {};
  #only: number | null = null;
  /** The highest index so far, while the indexes may be numbers of chunks; else null. */
  #highest: number | null = null;
  areSeveral = false;

  /**
   * Returns the keys of choices: their indexes, where they have one. Foundry Local up to 0.7 numbers its chunks there, 197, 198, …
   * (foundry-local#144): a lone choice under an index that never came belongs to the first one. Another choice would come again under its
   * index, and the first of several choices has index 0.
   */
  assignKeys(choices: readonly LooseChoice[]): number[] {
    const isNumbered = choices.length === 1 && this.#isNumbered(choices[0]?.index);
    return choices.map((choice, position) =>
      isNumbered && this.#only !== null ? this.#only : this.#keyOf(choice, position),
    );
  }

  mayBeNumbered(): boolean {
    return this.#highest !== null;
  }

  #isNumbered(index: unknown): boolean {
    if (this.#highest === null || typeof index !== 'number') return false;
    const isFirst = this.#highest === this.#only;
    const isNew = index > this.#highest;
    if (isNew) this.#highest = index;
    else if (isFirst) this.#highest = null;
    return isNew || !isFirst;
  }

  #keyOf({ index }: LooseChoice, position: number): number {
    const key = typeof index === 'number' ? index : (this.#only ?? position);
    if (this.#only === null) {
      this.#only = key;
      this.#highest = key > 0 ? key : null;
    }
    if (key !== this.#only) this.areSeveral = true;
    return key;
  }

  /** The part of a message or delta that belongs to the answer. */
  pickOwn(key: number, message: LooseMessage): LooseMessage {
    for (const name in message) {
      const kind = kindOf(name);
      if (kind !== null && isGiven(message[name as keyof LooseMessage])) this.#owners[kind] ??= key;
    }
    if (!this.areSeveral) return message;
    const isOwn = ([name, value]: [string, unknown]) => {
      const kind = kindOf(name);
      return kind === null || (this.#owners[kind] === key && isGiven(value));
    };
    return Object.fromEntries(Object.entries(message).filter(isOwn));
  }

  hasText(key: number): boolean {
    return !this.areSeveral || this.#owners.text === key;
  }

  /** Does the answer use anything of that choice, so that its finish reason counts? */
  isPart(key: number): boolean {
    return !this.areSeveral || Object.values(this.#owners).includes(key);
  }
}

export function isEmptyDelta(delta: LooseMessage): boolean {
  return !Object.entries(delta).some(([name, value]) => kindOf(name) !== null && isGiven(value));
}

function kindOf(name: string): Kind | null {
  return Object.hasOwn(messageKinds, name) ? messageKinds[name as keyof LooseMessage] : null;
}

export function readChoices({ choices }: LooseChunk): readonly LooseChoice[] {
  const all = objectsOf<LooseChoice>(choices);
  if (all.length < 2) return all;
  return [...all.filter(({ index }) => index === 0), ...all.filter(({ index }) => index !== 0)];
}
