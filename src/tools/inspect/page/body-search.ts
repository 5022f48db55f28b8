/** Which exchanges have a text in their bodies: the service is asked once for each of them, when its bodies are complete. */
export class BodySearch {
  readonly #onAnswer: () => void;
  #text = '';
  #found = new Set<number>();
  #unasked = new Set<number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | null = null;

  constructor(onAnswer: () => void) {
    this.#onAnswer = onAnswer;
  }

  has(id: number): boolean {
    return this.#found.has(id);
  }

  /** Whether an answer of the service is awaited. */
  get isSearching(): boolean {
    return this.#timer !== undefined || this.#asking !== null;
  }

  /** Looks for another text, in these exchanges. */
  start(text: string, ids: Iterable<number>): void {
    this.#asking?.abort();
    this.#asking = null;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#text = text;
    this.#found = new Set();
    this.#unasked = new Set(text === '' ? [] : ids);
    this.#schedule();
  }

  /** This one is complete now. */
  add(id: number): void {
    if (this.#text === '') return;
    this.#unasked.add(id);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#asking !== null || this.#unasked.size === 0) return;
    this.#timer = setTimeout(() => void this.#ask(), askAfterMs);
  }

  async #ask(): Promise<void> {
    this.#timer = undefined;
    const asking = new AbortController();
    this.#asking = asking;
    const ids = [...this.#unasked].slice(-maxAsked);
    this.#unasked.clear();
    const query = new URLSearchParams({ text: this.#text, ids: ids.join(',') });
    try {
      const response = await fetch(`/inspect/search?${query}`, { signal: asking.signal });
      const { ids: found } = (await response.json()) as { ids: readonly number[] };
      for (const id of found) this.#found.add(id);
    } catch {
      // The text has changed since, or the service is gone, which the page shows.
    }
    if (this.#asking !== asking) return;
    this.#asking = null;
    this.#schedule();
    this.#onAnswer();
  }
}

/** Long enough to type a word, and to ask for several new exchanges together. */
const askAfterMs = 250;
/** More than the service keeps. */
const maxAsked = 200;
