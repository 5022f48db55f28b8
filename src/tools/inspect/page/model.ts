import { messageOf } from '../../../service/settings/error-texts.ts';
import type { ExchangePart, ExchangeRow } from '../exchange-json.ts';
import type { StoreLimits } from '../exchange-store.ts';
import type { FoundMessage, ListMessage } from '../list-events.ts';
import { bodyNames } from '../recording.ts';
import { type ConversationRow, groupConversations } from '../view/group-round-trips.ts';
import { type ExchangeDetail, joinParts } from '../view/join-parts.ts';

export interface About {
  readonly version: string;
  readonly send_to: string | null;
  readonly limits: StoreLimits;
}

export interface Draft {
  readonly title: string;
  readonly path: string;
  readonly body: string;
}

/** The properties of the components that show one exchange. */
export interface ShownExchange {
  readonly detail: ExchangeDetail;
  readonly model: Model;
}

export type AnswerTab = 'Text' | 'Events' | 'JSON';

/** The pause after the last key press before a search starts: long enough to type a word. */
const searchAfterMs = 250;

/** Everything the page shows, and what of it is selected. The page is drawn again with each change. */
export class Model {
  about: About | null = null;
  connection: 'connecting' | 'live' | 'lost' = 'connecting';
  heldBytes = 0;
  filter = '';
  /** True while the service still searches bodies for the filter's text. */
  isSearching = false;
  /** The API key that the form sends. It is stored nowhere else. */
  key = '';
  draft: Draft | null = null;
  selectedId: number | null = null;
  /** The parts of the selected exchange that have arrived so far. */
  detail: ExchangeDetail | null = null;
  problem: string | null = null;
  /** The tab in which answers are shown, if the answer has that tab. */
  tab: AnswerTab = 'Text';
  alone: string | null = null;
  showsConversations = false;
  conversationId: number | null = null;
  readonly #draw: () => void;
  readonly #rows = new Map<number, ExchangeRow>();
  #frozen: readonly ExchangeRow[] | null = null;
  #found = new Set<number>();
  #source: EventSource | null = null;
  #searchTimer: ReturnType<typeof setTimeout> | undefined;
  /** The controller that aborts loading when another exchange is selected. */
  #left = new AbortController();
  #isLoading = false;
  /** The request id that the form sent. Its exchange is selected when it arrives. */
  #awaited: string | null = null;
  /** The exchange id from the page's address, which is selected once the list has arrived. */
  #linked = location.hash.slice(1);

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  connect(): void {
    void this.ask<About>('about').then((about) => this.set({ about }));
    addEventListener('hashchange', () => {
      this.#linked = location.hash.slice(1);
      this.#selectLinked();
    });
    this.#followList();
  }

  set(values: Partial<Model>): void {
    Object.assign(this, values);
    this.#draw();
  }

  visibleRows(): readonly ExchangeRow[] {
    const words = this.filter.toLowerCase().split(/\s+/);
    const rows = this.#frozen ?? this.#newestFirst();
    return rows.filter((row) => words.every((word) => collectWords(row).includes(word)) || this.#found.has(row.id));
  }

  get total(): number {
    return this.#rows.size;
  }

  get isPaused(): boolean {
    return this.#frozen !== null;
  }

  get waiting(): number {
    const newest = this.#frozen?.[0]?.id ?? 0;
    return this.#frozen === null ? 0 : [...this.#rows.keys()].filter((id) => id > newest).length;
  }

  togglePause(): void {
    this.#frozen = this.isPaused ? null : this.#newestFirst();
    this.#draw();
  }

  /** The text that bodies are searched for; empty for none. */
  get find(): string {
    return this.filter.trim();
  }

  isInBodies(id: number): boolean {
    return this.#found.has(id);
  }

  setFilter(filter: string): void {
    const before = this.find;
    this.filter = filter;
    if (this.find !== before) {
      this.#found = new Set();
      this.isSearching = this.find !== '';
      clearTimeout(this.#searchTimer);
      if (this.isSearching) this.#searchTimer = setTimeout(() => this.#followList(), searchAfterMs);
    }
    this.#draw();
  }

  conversations(): readonly ConversationRow[] {
    return groupConversations([...this.#rows.values()]);
  }

  setConversations(showsConversations: boolean): void {
    this.set({ showsConversations, alone: null });
    this.#updateAddress();
  }

  selectConversation(conversationId: number | null): void {
    this.set({ conversationId });
    this.#updateAddress();
  }

  openConversationOf(id: number): void {
    const conversation = this.conversations().find(({ roundTrips }) => roundTrips.some(({ row }) => row.id === id));
    this.setConversations(true);
    this.selectConversation(conversation?.id ?? null);
  }

  openExchange(id: number): void {
    this.setConversations(false);
    this.select(id);
  }

  select(id: number | null): void {
    if (id === this.selectedId && this.problem === null) return;
    this.#left.abort();
    this.#left = new AbortController();
    this.#isLoading = false;
    this.set({ selectedId: id, detail: null, problem: null, ...(id === null ? { alone: null } : {}) });
    this.#updateAddress();
    void this.#loadSelected();
  }

  /** Puts what is shown into the page's address, so that it survives a reload and can be shared. */
  #updateAddress(): void {
    const { showsConversations, conversationId, selectedId } = this;
    const conversation = showsConversations ? this.conversations().find(({ id }) => id === conversationId) : undefined;
    // The store evicts the first round trips of a conversation before the last.
    const row = conversation?.roundTrips.at(-1)?.row ?? this.#rows.get(selectedId ?? 0);
    const kind = conversation === undefined ? '' : conversationLink;
    history.replaceState(null, '', row === undefined ? location.pathname : `#${kind}${buildRowLink(row)}`);
  }

  async send(path: string, body: string): Promise<void> {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const { request_id } = await this.ask<{ request_id: string }>(`send?${new URLSearchParams({ path })}`, init);
    this.#awaited = request_id;
    this.#selectAwaited();
  }

  /** Loads all parts of an exchange that come after the known ones. It rejects with the reason. */
  async load(id: number, signal: AbortSignal, known: ExchangeDetail | null = null): Promise<ExchangeDetail> {
    const from = bodyNames.map((name) => known?.pieces[name].length ?? 0);
    const detail = joinParts(known, await this.ask<ExchangePart>(`exchanges/${id}?from=${from}`, { signal }));
    return detail.has_more ? this.load(id, signal, detail) : detail;
  }

  /** Asks the service with the form's key. It rejects with the service's message if the service refuses. */
  async ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    if (this.key !== '') headers.set('authorization', `Bearer ${this.key}`);
    const response = await fetch(`/inspect/${path}`, { ...init, headers });
    if (!response.ok) throw new Error((await response.text()).trim());
    return await response.json();
  }

  #newestFirst(): readonly ExchangeRow[] {
    return [...this.#rows.values()].reverse();
  }

  #followList(): void {
    this.#source?.close();
    const source = new EventSource(`/inspect/events?${new URLSearchParams({ find: this.find })}`);
    this.#source = source;
    source.addEventListener('open', () => this.set({ connection: 'live' }));
    source.addEventListener('error', () => this.set({ connection: 'lost' }));
    source.addEventListener('list', ({ data }) => this.#onList(JSON.parse(data) as ListMessage));
    source.addEventListener('found', ({ data }) => {
      for (const id of (JSON.parse(data) as FoundMessage).ids) this.#found.add(id);
      this.set({ isSearching: false });
    });
  }

  #onList({ reset, rows, gone, held_bytes }: ListMessage): void {
    // After a lost connection or a restart, the service sends all that it has.
    if (reset) this.#rows.clear();
    for (const id of gone) this.#rows.delete(id);
    for (const row of rows) this.#rows.set(row.id, row);
    this.set({ heldBytes: held_bytes });
    void this.#loadSelected();
    this.#selectAwaited();
    this.#selectLinked();
  }

  async #loadSelected(): Promise<void> {
    const { selectedId: id } = this;
    const { signal } = this.#left;
    const isBehind = () => {
      const [row, known] = [this.#rows.get(id ?? 0), this.detail?.row];
      if (known === undefined) return this.problem === null;
      // A restarted service counts ids and versions anew.
      return row !== undefined && row.started_at === known.started_at && row.version > known.version;
    };
    if (id === null || this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (isBehind()) this.set({ detail: await this.load(id, signal, this.detail), problem: null });
    } catch (error) {
      // Without a connection the page tries again when it has one.
      if (!signal.aborted && !(error instanceof TypeError)) this.set({ problem: messageOf(error) });
    }
    if (!signal.aborted) this.#isLoading = false;
  }

  #selectAwaited(): void {
    const row = this.#awaited === null ? undefined : this.#rowWhere((row) => row.request_id === this.#awaited);
    if (row === undefined) return;
    this.#awaited = null;
    this.select(row.id);
  }

  #selectLinked(): void {
    const link = this.#linked;
    this.#linked = '';
    if (link === '') return;
    const row = this.#rowWhere((row) => [buildRowLink(row), conversationLink + buildRowLink(row)].includes(link));
    if (row !== undefined && link.startsWith(conversationLink)) this.openConversationOf(row.id);
    else this.select(row?.id ?? null);
    if (row === undefined) this.set({ problem: 'This exchange is no longer in memory: only the newest are kept.' });
  }

  #rowWhere(isMeant: (row: ExchangeRow) => boolean): ExchangeRow | undefined {
    return [...this.#rows.values()].find(isMeant);
  }
}

const conversationLink = 'conversation-';

/** The link of an exchange: its number and time. Numbers restart with the service, and the time makes them unique. */
function buildRowLink({ id, started_at }: ExchangeRow): string {
  return `${id}-${started_at}`;
}

function collectWords(row: ExchangeRow): string {
  const { client, model, outcome, status, error_code, path, method, profile, request_id, finish_reason, said, given } =
    row;
  const kind = row.stream === true ? 'stream' : null;
  const words = [
    client,
    model,
    outcome,
    status,
    error_code,
    path,
    method,
    profile,
    request_id,
    finish_reason,
    kind,
    said,
    given,
    row.endpoint,
    ...row.called,
  ];
  return words.join(' ').toLowerCase();
}

export function findBaseUrl({ about }: Model): string {
  return about?.send_to?.replace(/\/v1\/?$/, '') ?? 'http://127.0.0.1:10000';
}
