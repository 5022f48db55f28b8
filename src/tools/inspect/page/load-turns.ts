import type { TurnLink } from '../turn-links.ts';
import type { ExchangeList } from './exchange-list.ts';

/** How often they are loaded while exchanges arrive. */
const loadAfterMs = 1000;

/** The turns that the service has: which exchange continues which. */
export class Turns {
  /** Whether they were ever loaded. */
  areKnown = false;
  readonly #list: ExchangeList;
  readonly #onChange: () => void;
  readonly #turns = new Map<number, TurnLink>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(list: ExchangeList, onChange: () => void) {
    this.#list = list;
    this.#onChange = onChange;
  }

  values(): Iterable<TurnLink> {
    return this.#turns.values();
  }

  loadSoon(): void {
    this.#timer ??= setTimeout(() => void this.load(), loadAfterMs);
  }

  async load(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const response = await fetch('/inspect/turns');
      const { turns } = (await response.json()) as { turns: readonly TurnLink[] };
      for (const turn of turns) {
        const known = this.#turns.get(turn.id);
        // The exchange that it continues may have been evicted since.
        if (known === undefined || known.parent === null) this.#turns.set(turn.id, turn);
      }
      for (const id of this.#turns.keys()) if (this.#list.get(id) === undefined) this.#turns.delete(id);
      this.areKnown = true;
    } catch {
      // The service is gone, which the page shows, or busy: asked again when an exchange ends.
    }
    this.#onChange();
  }
}
