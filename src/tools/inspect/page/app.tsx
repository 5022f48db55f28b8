import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ExchangeRow } from '../exchange-json.ts';
import { readWebSocketTurn } from '../view/group-round-trips.ts';
import { writeIndentedJson } from '../view/json-lines.ts';
import { ConversationDetail, ConversationList } from './conversation-panes.tsx';
import { Detail } from './detail.tsx';
import {
  formatCount,
  formatDuration,
  formatSize,
  hasFailed,
  listRowWords,
  shortenUserAgent,
  writeRowTitle,
} from './format.ts';
import type { Model } from './model.ts';
import { RowList, type RowTexts } from './row-list.tsx';
import { Button } from './section.tsx';
import { SendDialog } from './send-dialog.tsx';

export function App({ model }: { readonly model: Model }): JSX.Element {
  const filter = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (event.key === '/') filter.current?.focus();
      else if (event.key === 'p') model.togglePause();
      else if (event.key === 'n') openForm(model);
      else if (event.key === 'c') model.setConversations(!model.showsConversations);
      else if (event.key === 'Escape') {
        back(model);
        findListElement(model)?.focus();
      } else if (document.activeElement === document.body && listKeys.has(event.key)) {
        // On a fresh page nothing has the focus: the keys are for the list.
        const list = findListElement(model);
        list?.focus();
        list?.dispatchEvent(new KeyboardEvent('keydown', { key: event.key }));
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  const hasSelection = (model.showsConversations ? model.conversationId : model.selectedId) !== null;
  return (
    <div class={hasSelection ? 'app has-selection' : 'app'}>
      <header class="bar">
        <h1>
          <img src="/inspect/icon.svg" alt="" width="18" height="18" />
          Inspector
        </h1>
        <input
          ref={filter}
          class="filter"
          type="search"
          aria-label="Filter exchanges"
          placeholder="Filter: model, outcome, text in bodies …  /"
          value={model.filter}
          onInput={(event) => model.setFilter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
            event.preventDefault();
            document.getElementById('exchanges')?.focus();
          }}
        />
        <Button
          says={model.isPaused ? `Resume${model.waiting > 0 ? ` (${model.waiting} new)` : ''}` : 'Pause'}
          aria-pressed={model.isPaused}
          onClick={() => model.togglePause()}
          title="p"
        />
        <Button
          says="Conversations"
          aria-pressed={model.showsConversations}
          onClick={() => model.setConversations(!model.showsConversations)}
          title="c"
        />
        <Button says="Send a request" class="primary" onClick={() => openForm(model)} title="n" />
        <Status model={model} />
      </header>
      <main>
        {model.showsConversations ? <ConversationList model={model} /> : <ExchangeList model={model} />}
        {model.showsConversations ? <ConversationDetail model={model} /> : <Detail model={model} />}
      </main>
      {model.draft === null ? null : <SendDialog model={model} draft={model.draft} />}
    </div>
  );
}

const listKeys: ReadonlySet<string> = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End']);

function findListElement({ showsConversations }: Model): HTMLElement | null {
  return document.getElementById(showsConversations ? 'conversations' : 'exchanges');
}

function openForm(model: Model): void {
  const name = model.visibleRows().find((row) => row.model !== null)?.model ?? 'demo';
  const body = writeIndentedJson({ model: name, input: 'What is the weather in Paris?', stream: true });
  model.set({ draft: { title: 'Send a request', path: '/v1/responses', body } });
}

/** Closes one pane, as Escape does: the conversation, the full view, or the exchange. */
function back(model: Model): void {
  if (model.showsConversations) model.selectConversation(null);
  else if (model.alone !== null) model.set({ alone: null });
  else model.select(null);
}

function Status({ model }: { readonly model: Model }): JSX.Element {
  const words = { connecting: 'connecting', live: 'live', lost: 'connection lost' } as const;
  const limits = model.about?.limits;
  const limit = limits === undefined ? '' : ` of ${formatSize(limits.maxBytes)}`;
  return (
    <p class="status" role="status">
      <span class={`dot ${model.connection}`} />{' '}
      {model.isPaused && model.connection === 'live' ? 'paused' : words[model.connection]} · {formatCount(model.total)}{' '}
      {model.total === 1 ? 'exchange' : 'exchanges'} · {formatSize(model.heldBytes)}
      {limit}
    </p>
  );
}

function ExchangeList({ model }: { readonly model: Model }): JSX.Element {
  return (
    <RowList
      title="Exchanges"
      items={model.visibleRows()}
      textsOf={(row) => buildRowTexts(row, model)}
      selectedId={model.selectedId}
      onSelect={(id) => model.select(id)}
      empty={<Empty model={model} />}
    />
  );
}

function buildRowTexts(row: ExchangeRow, model: Model): RowTexts {
  const { tokens, outcome, tokens_per_second: speed } = row;
  const turn = readWebSocketTurn(row.request_id);
  const running = outcome === 'running' && row.pieces > 0 ? 'streaming' : null;
  return {
    title: writeRowTitle(row),
    about: listRowWords(row),
    outcome: row.error_code ?? (hasFailed(row) ? `${outcome} ${row.status}` : outcome),
    tone: outcome,
    startedAt: row.started_at,
    facts: [
      // The most important facts come first, because the end of a long line is cut off.
      model.isInBodies(row.id) ? 'text found' : null,
      outcome === 'running' ? running : formatDuration(row.duration_ms),
      row.first_event_ms === null ? null : `first ${formatDuration(row.first_event_ms)}`,
      tokens === null ? null : `${formatCount(tokens.input_tokens)} → ${formatCount(tokens.output_tokens)} tok`,
      shortenUserAgent(row.client),
      turn === null ? null : `ws turn ${turn.number}`,
      speed === null ? null : `${speed.toFixed(0)} tok/s`,
    ],
  };
}

function Empty({ model }: { readonly model: Model }): JSX.Element {
  if (model.total > 0) return <p>{model.isSearching ? 'Searching the bodies …' : 'No exchange matches the filter.'}</p>;
  if (model.connection === 'lost') return <p>The connection to the service is lost. The page tries again by itself.</p>;
  if (model.connection === 'connecting') return <p>Connecting to the service …</p>;
  return (
    <>
      <p>No requests yet. What clients send appears here as it runs.</p>
      <Button says="Send a request" onClick={() => openForm(model)} />
    </>
  );
}
