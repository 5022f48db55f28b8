import type { ComponentChildren, JSX } from 'preact';
import { escapeInvisible } from '../view/json-lines.ts';
import { keepSize } from './browser.ts';
import { chooseTone, formatTimeOfDay } from './format.ts';
import { VirtualList } from './virtual-list.tsx';

export interface RowTexts {
  /** The user's words, or where there are none the request. */
  readonly title: string;
  /** The model, and the tools that were called; what is null is left out. */
  readonly about: readonly (string | null)[];
  readonly outcome: string;
  /** The outcome that decides the colour. */
  readonly tone: string;
  readonly startedAt: number;
  readonly facts: readonly (string | null)[];
}

export function RowList<Item extends { readonly id: number }>(props: {
  readonly title: string;
  readonly items: readonly Item[];
  readonly textsOf: (item: Item) => RowTexts;
  readonly selectedId: number | null;
  readonly onSelect: (id: number | null) => void;
  /** Is shown if there are no rows. */
  readonly empty: ComponentChildren;
}): JSX.Element {
  const { title, items, textsOf, selectedId, onSelect, empty } = props;
  return (
    <section ref={listSize} class="exchanges" aria-label={title}>
      {items.length === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <VirtualList
          id={title.toLowerCase()}
          label={`${title}, newest first`}
          class="exchange-list"
          items={items}
          rowHeight={64}
          keyOf={({ id }) => id}
          selected={items.findIndex(({ id }) => id === selectedId)}
          onSelect={(index) => onSelect(items[index]?.id ?? null)}
          onOpen={() => document.getElementById('detail')?.focus()}
          rowOf={(item) => <Row texts={textsOf(item)} />}
        />
      )}
    </section>
  );
}

const listSize = keepSize('list');

function Row({ texts }: { readonly texts: RowTexts }): JSX.Element {
  const { title, about, outcome, tone, startedAt, facts } = texts;
  return (
    <div class="exchange">
      <span class={`dot ${chooseTone(tone)}`} />
      <span class="name" title={escapeInvisible(title)}>
        {escapeInvisible(title)}
      </span>
      <time>{formatTimeOfDay(startedAt)}</time>
      <span class="about">{escapeInvisible(joinTexts(about))}</span>
      <span class={`outcome ${chooseTone(tone)}`}>{outcome}</span>
      <span class="facts">{joinTexts(facts)}</span>
    </div>
  );
}

function joinTexts(texts: readonly (string | null)[]): string {
  return texts.filter((text) => text !== null).join(' · ');
}
