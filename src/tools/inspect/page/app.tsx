import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { webSocketTurnOf } from '../view/websocket-turn.ts';
import { ConversationDetail, ConversationList } from './conversation-panes.tsx';
import { Detail } from './detail.tsx';
import type { ListedRow } from './exchange-list.ts';
import { clientName, count, duration, size, timeOfDay, toneOf } from './format.ts';
import type { Draft, Model } from './model.ts';
import { SendDialog } from './send-dialog.tsx';
import { Splitter } from './splitter.tsx';
import { VirtualList } from './virtual-list.tsx';

/** The page: the list of exchanges, and the one that is selected. */
export function App({ model }: { readonly model: Model }): JSX.Element {
  const filter = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (event.key === '/') filter.current?.focus();
      else if (event.key === 'p') model.list.togglePause();
      else if (event.key === 'n') model.setDraft(newDraft);
      else if (event.key === 'c') model.setConversations(!model.showsConversations);
      else if (event.key === 'Escape') {
        back(model);
        listOf(model)?.focus();
      } else if (document.activeElement === document.body && listKeys.has(event.key)) {
        // On a fresh page nothing has the focus: the keys are for the list.
        const list = listOf(model);
        list?.focus();
        list?.dispatchEvent(new KeyboardEvent('keydown', { key: event.key }));
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  const rows = model.list.visible();
  const selected = model.selectedId === null ? null : rows.findIndex(({ row }) => row.id === model.selectedId);
  const hasSelection = (model.showsConversations ? model.conversationId : model.selectedId) !== null;
  const select = (index: number) => model.select(rows[index]?.row.id ?? null);
  return (
    <div class={hasSelection ? 'app has-selection' : 'app'}>
      <header class="bar">
        <h1>
          <img src="/inspect/icon.svg" alt="" width="18" height="18" />
          Inspector
        </h1>
        <label class="filter">
          <span class="hidden">Filter exchanges</span>
          <input
            ref={filter}
            type="search"
            placeholder="Filter: model, outcome, text in bodies …  /"
            value={model.list.filter}
            onInput={(event) => model.list.setFilter(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
              event.preventDefault();
              document.getElementById('exchanges')?.focus();
            }}
          />
        </label>
        <button type="button" aria-pressed={model.list.isPaused} onClick={() => model.list.togglePause()} title="p">
          {model.list.isPaused ? `Resume${model.list.waiting > 0 ? ` (${model.list.waiting} new)` : ''}` : 'Pause'}
        </button>
        <button
          type="button"
          aria-pressed={model.showsConversations}
          onClick={() => model.setConversations(!model.showsConversations)}
          title="c"
        >
          Conversations
        </button>
        <button type="button" class="primary" onClick={() => model.setDraft(newDraft)} title="n">
          Send a request
        </button>
        <Status model={model} />
      </header>
      <main style={model.layout.list === null ? {} : { '--list': `${model.layout.list * 100}%` }}>
        {model.showsConversations ? (
          <ConversationList model={model} />
        ) : (
          <section class="exchanges" aria-label="Exchanges">
            {rows.length === 0 ? <Empty model={model} onSend={() => model.setDraft(newDraft)} /> : null}
            <VirtualList
              id="exchanges"
              label="Exchanges, newest first"
              class={rows.length === 0 ? 'exchange-list without-rows' : 'exchange-list'}
              count={rows.length}
              rowHeight={46}
              keyOf={(index) => rows[index]?.row.id ?? index}
              rowAt={(index) => {
                const listed = rows[index];
                return listed === undefined ? null : (
                  <Row listed={listed} isInBodies={model.list.isInBodies(listed.row.id)} />
                );
              }}
              selected={selected}
              onSelect={select}
              onOpen={() => document.getElementById('detail-title')?.focus()}
            />
          </section>
        )}
        <Splitter
          label="Width of the list"
          direction="vertical"
          class="list-line"
          share={model.layout.list ?? 0.25}
          onShare={(list) => model.setLayout({ list })}
        />
        {model.showsConversations ? <ConversationDetail model={model} /> : <Detail model={model} />}
      </main>
      {model.draft === null ? null : (
        <SendDialog model={model} draft={model.draft} onClose={() => model.setDraft(null)} />
      )}
    </div>
  );
}

const listKeys: ReadonlySet<string> = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End']);

/** The list on the left. */
function listOf({ showsConversations }: Model): HTMLElement | null {
  return document.getElementById(showsConversations ? 'conversations' : 'exchanges');
}

const newDraft: Draft = { path: '/v1/responses', body: null };

/** Closes the innermost thing that is open. */
function back(model: Model): void {
  if (model.showsConversations) model.selectConversation(null);
  else if (model.alone !== null) model.setAlone(null);
  else model.select(null);
}

function Status({ model }: { readonly model: Model }): JSX.Element {
  const words = { connecting: 'connecting', live: 'live', lost: 'connection lost' } as const;
  const limits = model.about?.limits;
  const limit = limits === undefined ? '' : ` of ${size(limits.maxBytes)}`;
  return (
    <p class="status" role="status">
      <span class={`dot ${model.connection}`} />
      {model.list.isPaused && model.connection === 'live' ? 'paused' : words[model.connection]} ·{' '}
      {count(model.list.total)} {model.list.total === 1 ? 'exchange' : 'exchanges'} · {size(model.heldBytes)}
      {limit}
    </p>
  );
}

function Empty({ model, onSend }: { readonly model: Model; readonly onSend: () => void }): JSX.Element {
  if (model.list.total > 0)
    return <p class="empty">{model.list.isSearching ? 'Searching the bodies …' : 'No exchange matches the filter.'}</p>;
  if (model.connection !== 'live') return <p class="empty">{waitingFor(model)}</p>;
  return (
    <div class="empty">
      <p>No requests yet. What clients send appears here as it runs.</p>
      <button type="button" onClick={onSend}>
        Send a request
      </button>
    </div>
  );
}

/** Why there is nothing to see yet. */
function waitingFor({ connection }: Model): string {
  return connection === 'lost'
    ? 'The connection to the service is lost. The page tries again by itself.'
    : 'Connecting to the service …';
}

function Row(props: { readonly listed: ListedRow; readonly isInBodies: boolean }): JSX.Element {
  const { row } = props.listed;
  const path = `${row.method ?? ''} ${row.path ?? ''}`;
  const tokens = row.output_tokens === null ? null : `${count(row.input_tokens)} → ${count(row.output_tokens)} tok`;
  const speed = row.tokens_per_second === null ? null : `${row.tokens_per_second.toFixed(0)} tok/s`;
  const running = row.outcome === 'running' && row.pieces[1] > 0 ? 'streaming' : null;
  const turn = webSocketTurnOf(row.request_id);
  const facts = [
    props.isInBodies ? 'text found' : null,
    clientName(row.client),
    turn === null ? null : `ws turn ${turn.number}`,
    tokens ?? running,
    row.first_event_ms === null ? null : `first ${duration(row.first_event_ms)}`,
    row.outcome === 'running' ? null : `${duration(row.duration_ms)} in all`,
    speed,
  ];
  return (
    <div class="exchange">
      <span class={`dot ${toneOf(row.outcome)}`} />
      <span class="name">{row.model ?? path}</span>
      <span class={`outcome ${toneOf(row.outcome)}`}>{row.error_code ?? row.outcome}</span>
      <time>{timeOfDay(row.started_at)}</time>
      <span class="facts">{facts.filter((fact) => fact !== null).join(' · ')}</span>
    </div>
  );
}
