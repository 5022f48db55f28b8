import type { InputItem, InputToolCall } from '../../shared/parsed.ts';

/** The calls of one round with one key; those before `next` have an output. */
interface RoundCalls {
  readonly round: number;
  readonly calls: InputToolCall[];
  next: number;
}

/**
 * The calls of an input that have no output yet, while its items are read one after the other. Some servers number the calls of each round
 * from the start, and some give one id to all calls of a round, so that an id alone does not identify a call. An output belongs to the
 * oldest open call with its key in the latest round that has one.
 */
export class OpenCalls {
  readonly #keyOf: (call: InputToolCall) => string;
  readonly #open = new Map<string, RoundCalls[]>();
  readonly #answered = new Map<string, InputToolCall>();
  readonly #withOutput = new Set<InputToolCall>();
  #round = 0;
  #isAnswered = false;

  constructor(keyOf: (call: InputToolCall) => string, items: readonly InputItem[]) {
    this.#keyOf = keyOf;
    for (const item of items) this.add(item);
  }

  add(item: InputItem): void {
    if (item.kind === 'call') this.#addCall(item);
    else if (item.kind === 'output') this.#addOutput(item.call);
    else if (item.kind === 'message' && item.role === 'user') this.#beginRound();
  }

  /** The call that the next output with that key answers. */
  find(key: string): InputToolCall | undefined {
    const rounds = this.#open.get(key) ?? [];
    for (let last = rounds.at(-1); last !== undefined; last = rounds.at(-1)) {
      for (; last.next < last.calls.length; last.next++) {
        const call = last.calls[last.next] as InputToolCall;
        if (!this.#withOutput.has(call)) return call;
      }
      rounds.pop();
    }
    return undefined;
  }

  /** The call with that key that has the latest output: it may have several. */
  findAnswered(key: string): InputToolCall | undefined {
    return this.#answered.get(key);
  }

  #addCall(call: InputToolCall): void {
    if (this.#isAnswered) this.#beginRound();
    const key = this.#keyOf(call);
    const rounds = this.#open.get(key) ?? [];
    if (rounds.length === 0) this.#open.set(key, rounds);
    const last = rounds.at(-1);
    if (last?.round === this.#round) last.calls.push(call);
    else rounds.push({ round: this.#round, calls: [call], next: 0 });
  }

  #addOutput(call: InputToolCall | null): void {
    this.#isAnswered = true;
    if (call === null) return;
    this.#withOutput.add(call);
    this.#answered.set(this.#keyOf(call), call);
  }

  #beginRound(): void {
    this.#round++;
    this.#isAnswered = false;
  }
}
