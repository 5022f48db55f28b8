import type { InputItem, InputToolCall } from '../../shared/parsed.ts';

/** The calls of one turn with one key; those before `next` have an output. */
interface TurnCalls {
  readonly turn: number;
  readonly calls: InputToolCall[];
  next: number;
}

/**
 * The calls of an input that have no output yet, while its items are read one after the other. Some servers number the calls of
 * each turn from the start, and some give one id to all calls of a turn, so that an id alone does not say which call an output
 * belongs to: of the latest turn that has an open call with the key, it is the oldest.
 */
export class OpenCalls {
  readonly #keyOf: (call: InputToolCall) => string;
  readonly #open = new Map<string, TurnCalls[]>();
  /** The call that was answered last, by its key. */
  readonly #answered = new Map<string, InputToolCall>();
  readonly #withOutput = new Set<InputToolCall>();
  #turn = 0;
  #isAnswered = false;

  constructor(keyOf: (call: InputToolCall) => string, items: readonly InputItem[]) {
    this.#keyOf = keyOf;
    for (const item of items) this.add(item);
  }

  add(item: InputItem): void {
    if (item.kind === 'call') this.#addCall(item);
    else if (item.kind === 'output') this.#addOutput(item.call);
    else if (item.kind === 'message' && item.role === 'user') this.#beginTurn();
  }

  /** The call that the next output with that key answers; undefined for none. */
  find(key: string): InputToolCall | undefined {
    const turns = this.#open.get(key) ?? [];
    for (let last = turns.at(-1); last !== undefined; last = turns.at(-1)) {
      for (; last.next < last.calls.length; last.next++) {
        const call = last.calls[last.next] as InputToolCall;
        if (!this.#withOutput.has(call)) return call;
      }
      turns.pop();
    }
    return undefined;
  }

  /** The call with that key that has the latest output: a further output is its own too. */
  findAnswered(key: string): InputToolCall | undefined {
    return this.#answered.get(key);
  }

  #addCall(call: InputToolCall): void {
    // A call that follows an output was made with it.
    if (this.#isAnswered) this.#beginTurn();
    const key = this.#keyOf(call);
    const turns = this.#open.get(key) ?? [];
    if (turns.length === 0) this.#open.set(key, turns);
    const last = turns.at(-1);
    if (last?.turn === this.#turn) last.calls.push(call);
    else turns.push({ turn: this.#turn, calls: [call], next: 0 });
  }

  #addOutput(call: InputToolCall | null): void {
    this.#isAnswered = true;
    if (call === null) return;
    this.#withOutput.add(call);
    this.#answered.set(this.#keyOf(call), call);
  }

  #beginTurn(): void {
    this.#turn++;
    this.#isAnswered = false;
  }
}
