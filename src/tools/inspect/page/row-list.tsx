import type { JSX } from 'preact';
import { timeOfDay, toneOf } from './format.ts';
import { VirtualList } from './virtual-list.tsx';

/** What a row says of an exchange or a conversation. */
export interface RowWords {
  readonly name: string;
  readonly outcome: string;
  /** The outcome by which it is coloured. */
  readonly tone: string;
  readonly startedAt: number;
  /** Those that are null are left out. */
  readonly facts: readonly (string | null)[];
}

/** The list on the left. */
export function RowList<Item extends { readonly id: number }>(props: {
  readonly title: string;
  readonly items: readonly Item[];
  readonly wordsOf: (item: Item) => RowWords;
  readonly selectedId: number | null;
  readonly onSelect: (id: number | null) => void;
  /** Shown instead of no rows. */
  readonly empty: JSX.Element;
}): JSX.Element {
  const { title, items, wordsOf, selectedId, onSelect, empty } = props;
  return (
    <section class="exchanges" aria-label={title}>
      {items.length === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <VirtualList
          id={title.toLowerCase()}
          label={`${title}, newest first`}
          class="exchange-list"
          items={items}
          rowHeight={46}
          keyOf={({ id }) => id}
          selected={items.findIndex(({ id }) => id === selectedId)}
          onSelect={(index) => onSelect(items[index]?.id ?? null)}
          onOpen={() => document.getElementById('detail')?.focus()}
          rowOf={(item) => <Row words={wordsOf(item)} />}
        />
      )}
    </section>
  );
}

function Row({ words }: { readonly words: RowWords }): JSX.Element {
  const { name, outcome, tone, startedAt, facts } = words;
  return (
    <div class="exchange">
      <span class={`dot ${toneOf(tone)}`} />
      <span class="name">{name}</span>
      <span class={`outcome ${toneOf(tone)}`}>{outcome}</span>
      <time>{timeOfDay(startedAt)}</time>
      <span class="facts">{facts.filter((fact) => fact !== null).join(' · ')}</span>
    </div>
  );
}
