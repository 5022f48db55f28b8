import type { ExchangeRow } from '../exchange-json.ts';
import type { StoreLimits } from '../exchange-store.ts';
import { pricesIn } from '../view/cost.ts';
import { type Conversation, conversationsOf } from '../view/group-turns.ts';
import { ExchangeList, type ListMessage } from './exchange-list.ts';
import { type Layout, loadLayout, saveLayout } from './layout.ts';
import { Turns } from './load-turns.ts';
import { followExchange, type ShownExchange } from './shown-exchange.ts';

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

const evicted = 'This exchange is no longer in memory: only the newest are kept.';

type Connection = 'connecting' | 'live' | 'lost';

/** Everything the page shows, and what of it is selected. Listeners are called once a frame. */
export class Model {
  readonly list = new ExchangeList(() => this.#changed());
  readonly turns = new Turns(this.list, () => this.#turnsChanged());
  about: About | null = null;
  connection: Connection = 'connecting';
  heldBytes = 0;
  /** What the form sends for a key; not stored anywhere else. */
  key = '';
  /** What the open form starts from: nothing, or a request to edit and send again; null while it is closed. */
  draft: Draft | null = null;
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
  #conversations: readonly Conversation[] | null = null;
  /** The id of an exchange whose conversation is to be shown once it is known. */
  #wantedTurn: number | null = null;
  #leave: (() => void) | null = null;
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

  setConversations(showsConversations: boolean): void {
    if (showsConversations) void this.turns.load();
    this.#set({ showsConversations, alone: null });
  }

  /** Conversations of more than one turn, newest first. */
  conversations(): readonly Conversation[] {
    const rowOf = (id: number) => this.list.get(id)?.row;
    this.#conversations ??= conversationsOf(this.turns.values(), rowOf, pricesIn(this.about?.prices ?? ''));
    return this.#conversations;
  }

  selectConversation(conversationId: number | null): void {
    this.#set({ conversationId });
  }

  openConversationOf(id: number): void {
    this.#wantedTurn = id;
    this.setConversations(true);
  }

  openExchange(id: number): void {
    this.setConversations(false);
    this.select(id);
  }

  setDraft(draft: Draft | null): void {
    this.#set({ draft });
  }

  setLayout(changes: Partial<Layout>): void {
    const layout = { ...this.layout, ...changes };
    saveLayout(layout);
    this.#set({ layout });
  }

  setAlone(alone: string | null): void {
    this.#set({ alone });
  }

  select(id: number | null): void {
    if (id === this.selectedId && this.problem === null) return;
    this.#leave?.();
    this.#leave = null;
    this.selectedId = id;
    if (id === null) this.alone = null;
    this.#set({ shown: null, problem: null });
    const listed = id === null ? undefined : this.list.get(id);
    // So that the page can be reloaded, and its address shared, with what it shows.
    history.replaceState(null, '', listed === undefined ? location.pathname : `#${linkOf(listed.row)}`);
    if (id === null) return;
    this.#leave = followExchange(id, {
      onExchange: (shown) => this.#set({ shown, problem: null }),
      onEvicted: () => this.#set({ problem: evicted }),
      onRefused: () => this.#set({ problem: 'Too many pages are open.' }),
    });
  }

  /** Sends a body with the form to a path of the API. Rejects with the reason. */
  async send(path: string, body: string): Promise<void> {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const { request_id } = await this.#ask<{ request_id: string }>(`send?${new URLSearchParams({ path })}`, init);
    this.#awaited = request_id;
    this.#selectAwaited();
  }

  /** The names of the upstream's models, or why there are none. Rejects when the service cannot be reached. */
  models(): Promise<{ readonly models: readonly string[]; readonly problem: string | null }> {
    return this.#ask('models');
  }

  async #loadAbout(): Promise<void> {
    this.#set({ about: await this.#ask('about') });
  }

  /** Asks the service, with the form's key. Rejects with its words where it refuses. */
  async #ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    const headers = new Headers(init.headers);
    if (this.key !== '') headers.set('authorization', `Bearer ${this.key}`);
    const response = await fetch(`/inspect/${path}`, { ...init, headers });
    if (!response.ok) throw new Error((await response.text()).trim());
    return await response.json();
  }

  #onList(message: ListMessage): void {
    if (this.showsConversations && message.rows.length > 0) this.turns.loadSoon();
    this.list.update(message);
    this.#conversations = null;
    this.heldBytes = message.held_bytes;
    this.#selectAwaited();
    this.#selectLinked();
  }

  #turnsChanged(): void {
    this.#conversations = null;
    const wanted = this.#wantedTurn;
    this.#wantedTurn = null;
    const of = this.conversations().find(({ turns }) => turns.some(({ row }) => row.id === wanted));
    if (wanted !== null) this.conversationId = of?.id ?? null;
    this.#changed();
  }

  #selectAwaited(): void {
    if (this.#awaited === null) return;
    const id = this.list.idWhere((row) => row.request_id === this.#awaited);
    if (id === undefined) return;
    this.#awaited = null;
    this.select(id);
  }

  #selectLinked(): void {
    const link = this.#linked;
    this.#linked = '';
    if (link === '') return;
    const id = this.list.idWhere((row) => linkOf(row) === link);
    this.select(id ?? null);
    if (id === undefined) this.#set({ problem: evicted });
  }

  #set(values: Partial<Model>): void {
    Object.assign(this, values);
    this.#changed();
  }

  /** Tells at once what would be told with the next frame, so that what a person does meets the page as it is. */
  settle(): void {
    if (this.#frame === 0) return;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    for (const listener of this.#listeners) listener();
  }

  #changed(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.settle());
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
