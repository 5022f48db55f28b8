import type { ExchangeRow } from '../exchange-json.ts';
import { BodySearch } from './body-search.ts';

/** A row as the page has it. */
export interface ListedRow {
  readonly row: ExchangeRow;
  /** The text that the filter searches, in lower case. */
  readonly words: string;
}

/** What the service sends of its list: the changes, or with `reset` all of it. */
export interface ListMessage {
  readonly reset: boolean;
  readonly rows: readonly ExchangeRow[];
  readonly gone: readonly number[];
  readonly held_bytes: number;
}

/** The list of exchanges: the service's rows, which of them match the filter, and the pause. */
export class ExchangeList {
  filter = '';
  readonly #onChange: () => void;
  readonly #bodySearch = new BodySearch(() => this.#changed());
  readonly #rows = new Map<number, ListedRow>();
  /** What is shown while the list is paused. */
  #frozen: readonly ListedRow[] | null = null;
  #visible: readonly ListedRow[] | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The rows shown: newest first, those that match the filter. */
  visible(): readonly ListedRow[] {
    if (this.#visible !== null) return this.#visible;
    const words = this.filter
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const rows = this.#frozen ?? this.#newestFirst();
    const isShown = (listed: ListedRow) =>
      words.every((word) => listed.words.includes(word)) || this.#bodySearch.has(listed.row.id);
    this.#visible = words.length === 0 ? rows : rows.filter(isShown);
    return this.#visible;
  }

  get(id: number): ListedRow | undefined {
    return this.#rows.get(id);
  }

  /** The id of the oldest exchange of that kind. */
  idWhere(isMeant: (row: ExchangeRow) => boolean): number | undefined {
    for (const { row } of this.#rows.values()) if (isMeant(row)) return row.id;
    return undefined;
  }

  /** The text that is looked for in bodies; empty for none. */
  get find(): string {
    return this.filter.trim();
  }

  /** Whether that text is in the exchange's bodies. */
  isInBodies(id: number): boolean {
    return this.#bodySearch.has(id);
  }

  /** Whether bodies are still searched for it. */
  get isSearching(): boolean {
    return this.#bodySearch.isSearching;
  }

  get total(): number {
    return this.#rows.size;
  }

  get isPaused(): boolean {
    return this.#frozen !== null;
  }

  /** How many exchanges came since the list was paused. */
  get waiting(): number {
    const newest = this.#frozen?.[0]?.row.id ?? 0;
    return this.#frozen === null ? 0 : [...this.#rows.keys()].filter((id) => id > newest).length;
  }

  setFilter(filter: string): void {
    const before = this.find;
    this.filter = filter;
    const kept = [...this.#rows.values()].filter(({ row }) => row.outcome !== 'running');
    if (this.find !== before)
      this.#bodySearch.start(
        this.find,
        kept.map(({ row }) => row.id),
      );
    this.#changed();
  }

  togglePause(): void {
    this.#frozen = this.isPaused ? null : this.#newestFirst();
    this.#changed();
  }

  update({ reset, rows, gone }: ListMessage): void {
    // After a lost connection or a restart of the service: what it does not have is gone.
    for (const id of reset ? [...this.#rows.keys()] : gone) this.#rows.delete(id);
    for (const row of rows) {
      this.#rows.set(row.id, { row, words: wordsOf(row) });
      if (row.outcome !== 'running') this.#bodySearch.add(row.id);
    }
    this.#changed();
  }

  #newestFirst(): readonly ListedRow[] {
    return [...this.#rows.values()].reverse();
  }

  #changed(): void {
    this.#visible = null;
    this.#onChange();
  }
}

function wordsOf(row: ExchangeRow): string {
  const { client, model, outcome, status, error_code, path, method, profile, request_id, finish_reason } = row;
  const kind = row.stream === true ? 'stream' : null;
  const words = [client, model, outcome, status, error_code, path, method, profile, request_id, finish_reason, kind];
  return words
    .filter((word) => word !== null)
    .join(' ')
    .toLowerCase();
}
