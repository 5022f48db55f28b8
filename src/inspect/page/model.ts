import type { ExchangeFile, ExchangeFilePiece } from '../../schema/exchange-file.ts';
import type { StoreLimits } from '../store.ts';
import type { ExchangeDetail, ExchangeRow } from '../told-exchange.ts';
import type { TurnLink } from '../turn-links.ts';
import { type Conversation, conversationsOf } from '../view/conversations.ts';
import { pricesIn } from '../view/cost.ts';
import { isStream } from '../view/final-response.ts';
import { createTimeline, type Timeline } from '../view/timeline.ts';
import { BodySearch } from './body-search.ts';
import { type Layout, loadLayout, saveLayout } from './layout.ts';

/** Rows that the page keeps, including those of exchanges that are no longer in the service's memory. */
const maxRows = 5000;

/** How often conversations are fetched while exchanges arrive. */
const turnsAfterMs = 1000;

/** A row as the page has it. */
export interface ListedRow {
  readonly row: ExchangeRow;
  /** Its contents are no longer in memory. */
  readonly isGone: boolean;
  /** The text that the filter searches, in lower case. */
  readonly words: string;
}

export interface ShownExchange {
  readonly detail: ExchangeDetail;
  readonly timeline: Timeline;
  /** Counts what was added, since the timeline grows in place. */
  readonly version: number;
}

export interface About {
  readonly version: string;
  readonly send_to: string | null;
  readonly prices: string;
  readonly limits: StoreLimits;
}

/** A request in the form. `body` is null if the form makes it. */
export interface Draft {
  readonly path: string;
  readonly body: string | null;
}

type Connection = 'connecting' | 'live' | 'lost';

/** Everything the page shows. Listeners are called once a frame. */
export class Model {
  about: About | null = null;
  connection: Connection = 'connecting';
  heldBytes = 0;
  filter = '';
  /** What the form sends for a key; not stored anywhere else. */
  key = '';
  /** What the open form starts from: nothing, or a request to edit and send again; null while it is closed. */
  draft: Draft | null = null;
  isPaused = false;
  /** Updates that this page was too slow for: it received the state after them. */
  skipped = 0;
  selectedId: number | null = null;
  shown: ShownExchange | null = null;
  /** Why the selected exchange is not shown. */
  problem: string | null = null;
  layout: Layout = loadLayout();
  /** The only section shown; null if all are. */
  alone: string | null = null;
  /** Whether the list shows conversations. */
  showsConversations = false;
  conversationId: number | null = null;
  /** Turns that the service has or had, by exchange; the page remembers those that are gone. */
  readonly #turns = new Map<number, TurnLink>();
  areTurnsKnown = false;
  #conversations: readonly Conversation[] | null = null;
  #turnsTimer: ReturnType<typeof setTimeout> | undefined;
  /** The id of an exchange whose conversation is to be shown once it is known. */
  #wantedTurn: number | null = null;
  readonly #bodySearch = new BodySearch(() => this.#listChanged());
  #rows = new Map<number, ListedRow>();
  /** What the list shows while it is paused. */
  #frozen: readonly ListedRow[] | null = null;
  #visible: readonly ListedRow[] | null = null;
  #details: EventSource | null = null;
  /** The id of a request that the form sent, to select its exchange when it arrives. */
  #awaited: string | null = null;
  /** The id in a link to an exchange, until the list has arrived. */
  #linked = location.hash.slice(1);
  #frame = 0;
  readonly #listeners = new Set<() => void>();

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  connect(): void {
    void this.#loadAbout();
    addEventListener('hashchange', () => {
      this.#linked = location.hash.slice(1);
      this.#selectLinked();
    });
    const source = new EventSource('/inspect/events');
    source.addEventListener('open', () => this.#set({ connection: 'live' }));
    source.addEventListener('error', () => this.#set({ connection: 'lost' }));
    source.addEventListener('list', (event) => this.#onList(JSON.parse(event.data) as ListMessage));
  }

  /** The rows that the list shows: newest first, those that match the filter. */
  visibleRows(): readonly ListedRow[] {
    if (this.#visible !== null) return this.#visible;
    const words = this.filter
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const rows = this.#frozen ?? [...this.#rows.values()].reverse();
    const isShown = (listed: ListedRow) =>
      words.every((word) => listed.words.includes(word)) || this.#bodySearch.has(listed.row.id);
    this.#visible = words.length === 0 ? rows : rows.filter(isShown);
    return this.#visible;
  }

  /** The text that is looked for in bodies; empty for none. */
  get find(): string {
    return this.filter.trim();
  }

  /** Whether that text is in the exchange's bodies. */
  isInBodies(id: number): boolean {
    return this.#bodySearch.has(id);
  }

  get total(): number {
    return this.#rows.size;
  }

  /** How many exchanges came since the list was paused. */
  get waiting(): number {
    const newest = this.#frozen?.[0]?.row.id ?? 0;
    return this.#frozen === null ? 0 : [...this.#rows.keys()].filter((id) => id > newest).length;
  }

  setFilter(filter: string): void {
    const before = this.find;
    this.filter = filter;
    const kept = [...this.#rows.values()].filter(({ isGone, row }) => !isGone && row.outcome !== 'running');
    if (this.find !== before)
      this.#bodySearch.start(
        this.find,
        kept.map(({ row }) => row.id),
      );
    this.#listChanged();
  }

  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.#frozen = isPaused ? [...this.#rows.values()].reverse() : null;
    this.#listChanged();
  }

  setConversations(showsConversations: boolean): void {
    this.showsConversations = showsConversations;
    this.alone = null;
    if (showsConversations) void this.#loadTurns();
    this.#changed();
  }

  /** Conversations of more than one turn, newest first. */
  conversations(): readonly Conversation[] {
    const rowOf = (id: number) => this.#rows.get(id)?.row;
    this.#conversations ??= conversationsOf(this.#turns.values(), rowOf, pricesIn(this.about?.prices ?? ''));
    return this.#conversations;
  }

  selectConversation(id: number | null): void {
    this.conversationId = id;
    this.#changed();
  }

  openConversationOf(id: number): void {
    this.#wantedTurn = id;
    this.setConversations(true);
  }

  openExchange(id: number): void {
    this.setConversations(false);
    this.select(id);
  }

  async #loadTurns(): Promise<void> {
    clearTimeout(this.#turnsTimer);
    this.#turnsTimer = undefined;
    try {
      const response = await fetch('/inspect/turns');
      const { turns } = (await response.json()) as { turns: readonly TurnLink[] };
      for (const turn of turns) {
        const known = this.#turns.get(turn.id);
        // The exchange that it continues may have been evicted since.
        if (known === undefined || known.parent === null) this.#turns.set(turn.id, turn);
      }
      for (const id of this.#turns.keys()) if (!this.#rows.has(id)) this.#turns.delete(id);
      this.areTurnsKnown = true;
    } catch {
      // The service is gone, which the page shows, or busy: asked again when an exchange ends.
    }
    this.#conversations = null;
    const wanted = this.#wantedTurn;
    this.#wantedTurn = null;
    const of = this.conversations().find(({ turns }) => turns.some(({ row }) => row.id === wanted));
    if (wanted !== null) this.conversationId = of?.id ?? null;
    this.#changed();
  }

  setDraft(draft: Draft | null): void {
    this.draft = draft;
    this.#changed();
  }

  setLayout(changes: Partial<Layout>): void {
    this.layout = { ...this.layout, ...changes };
    saveLayout(this.layout);
    this.#changed();
  }

  setAlone(section: string | null): void {
    this.alone = section;
    this.#changed();
  }

  select(id: number | null): void {
    if (id === this.selectedId && this.problem === null) return;
    this.#details?.close();
    this.#details = null;
    this.selectedId = id;
    if (id === null) this.alone = null;
    this.shown = null;
    this.problem = null;
    if (id !== null) this.#open(id);
    const row = id === null ? undefined : this.#rows.get(id)?.row;
    // So that the page can be reloaded, and its address shared, with what it shows.
    history.replaceState(null, '', row === undefined ? location.pathname : `#${linkOf(row)}`);
    this.#changed();
  }

  /** Sends a body with the form to a path of the API. Rejects with the reason. */
  async send(path: string, body: string): Promise<void> {
    const response = await fetch(`/inspect/send?${new URLSearchParams({ path })}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#authorization() },
      body,
    });
    if (!response.ok) throw new Error((await response.text()).trim());
    const { request_id } = (await response.json()) as { request_id: string };
    this.#awaited = request_id;
    this.#selectAwaited();
  }

  /** The names of the upstream's models, or why there are none. Rejects when the service cannot be reached. */
  async models(): Promise<{ readonly models: readonly string[]; readonly problem: string | null }> {
    const response = await fetch('/inspect/models', { headers: this.#authorization() });
    if (!response.ok) throw new Error((await response.text()).trim());
    return await response.json();
  }

  #authorization(): Readonly<Record<string, string>> {
    return this.key === '' ? {} : { authorization: `Bearer ${this.key}` };
  }

  #open(id: number): void {
    const listed = this.#rows.get(id);
    if (listed?.isGone === true) {
      this.problem = 'This exchange is not in memory any more: the newest are kept.';
      return;
    }
    const source = new EventSource(`/inspect/exchanges/${id}/events`);
    this.#details = source;
    source.addEventListener('exchange', (event) => {
      const detail = JSON.parse(event.data) as ExchangeDetail & { skipped: number };
      const timeline = timelineOf(detail.file);
      timeline.add(detail.file.chat_response?.pieces ?? [], detail.file.client_response?.pieces ?? []);
      this.#show({ detail, timeline, version: 0 }, detail.skipped);
    });
    source.addEventListener('pieces', (event) => this.#onPieces(JSON.parse(event.data) as PiecesMessage));
    source.addEventListener('end', () => source.close());
    source.addEventListener('evicted', () => {
      source.close();
      this.#set({ problem: 'This exchange left the memory while it was shown.' });
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED && this.shown === null)
        this.#set({ problem: 'This exchange is not in memory any more, or too many pages are open.' });
    });
  }

  async #loadAbout(): Promise<void> {
    const response = await fetch('/inspect/about');
    this.#set({ about: (await response.json()) as About });
  }

  #onList({ reset, rows, gone, held_bytes, skipped }: ListMessage): void {
    // After a lost connection or a restart of the service: what it does not have is gone.
    if (reset) for (const [id, listed] of this.#rows) this.#rows.set(id, { ...listed, isGone: true });
    for (const id of gone) {
      const listed = this.#rows.get(id);
      if (listed !== undefined) this.#rows.set(id, { ...listed, isGone: true });
    }
    for (const row of rows) {
      this.#rows.set(row.id, { row, isGone: false, words: wordsOf(row) });
      if (row.outcome !== 'running') this.#bodySearch.add(row.id);
    }
    this.#conversations = null;
    if (this.showsConversations && rows.length > 0)
      this.#turnsTimer ??= setTimeout(() => void this.#loadTurns(), turnsAfterMs);
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= maxRows) break;
      this.#rows.delete(id);
    }
    this.heldBytes = held_bytes;
    this.skipped += skipped;
    this.#listChanged();
    this.#selectAwaited();
    this.#selectLinked();
  }

  #onPieces({ row, chat_response, client_response, skipped }: PiecesMessage): void {
    if (this.shown === null) return;
    const { detail, timeline, version } = this.shown;
    timeline.add(chat_response, client_response);
    const file = withPieces(detail.file, chat_response, client_response);
    this.#show({ detail: { ...detail, row, file }, timeline, version: version + 1 }, skipped);
  }

  #show(shown: ShownExchange, skipped: number): void {
    this.skipped += skipped;
    this.#set({ shown, problem: null });
  }

  #selectAwaited(): void {
    if (this.#awaited === null) return;
    for (const { row } of this.#rows.values())
      if (row.request_id === this.#awaited) {
        this.#awaited = null;
        this.select(row.id);
        return;
      }
  }

  #selectLinked(): void {
    const link = this.#linked;
    this.#linked = '';
    if (link === '') return;
    const found = [...this.#rows.values()].find(({ row }) => linkOf(row) === link);
    if (found !== undefined) this.select(found.row.id);
    else {
      this.select(null);
      this.#set({ problem: 'The exchange of this link is not in memory any more: the newest are kept.' });
    }
  }

  #listChanged(): void {
    this.#visible = null;
    this.#changed();
  }

  #set(values: Partial<Pick<Model, 'about' | 'connection' | 'problem' | 'shown'>>): void {
    Object.assign(this, values);
    this.#changed();
  }

  #changed(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** Numbers restart with the service; together with the time they identify an exchange forever. */
function linkOf({ id, started_at }: ExchangeRow): string {
  return `${id}-${started_at}`;
}

/** Where a client would send requests. */
export function baseOf({ about }: Model): string {
  return about?.send_to?.replace(/\/v1\/?$/, '') ?? 'http://127.0.0.1:10000';
}

interface ListMessage {
  readonly reset: boolean;
  readonly rows: readonly ExchangeRow[];
  readonly gone: readonly number[];
  readonly held_bytes: number;
  readonly skipped: number;
}

interface PiecesMessage {
  readonly row: ExchangeRow;
  readonly chat_response: readonly ExchangeFilePiece[];
  readonly client_response: readonly ExchangeFilePiece[];
  readonly skipped: number;
}

function timelineOf({ chat_response, client_response }: ExchangeFile): Timeline {
  return createTimeline({ upstreamIsStream: isStream(chat_response), clientIsStream: isStream(client_response) });
}

/** The pieces are added in place: there may be many, and each update has a few. */
function withPieces(
  file: ExchangeFile,
  upstream: readonly ExchangeFilePiece[],
  client: readonly ExchangeFilePiece[],
): ExchangeFile {
  file.chat_response?.pieces.push(...upstream);
  file.client_response?.pieces.push(...client);
  return file;
}

function wordsOf(row: ExchangeRow): string {
  const { client, model, outcome, status, error_code, path, method, profile, request_id, worker, finish_reason } = row;
  const more = [row.stream === true ? 'stream' : null, worker === null ? null : `worker ${worker}`];
  const words = [client, model, outcome, status, error_code, path, method, profile, request_id, finish_reason, ...more];
  return words
    .filter((word) => word !== null)
    .join(' ')
    .toLowerCase();
}
