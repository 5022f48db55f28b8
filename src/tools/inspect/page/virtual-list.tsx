import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualListProps {
  readonly label: string;
  readonly count: number;
  /** Pixels; all rows have the same height. */
  readonly rowHeight: number;
  readonly rowAt: (index: number) => ComponentChildren;
  readonly keyOf?: (index: number) => string | number;
  /** Index of the row that the arrow keys move from; null without a selection. Undefined for a list that cannot select. */
  readonly selected?: number | null;
  readonly onSelect?: (index: number) => void;
  readonly onOpen?: () => void;
  /** Stay at the end while it grows, if it is scrolled there. */
  readonly followsEnd?: boolean;
  /** A row to scroll to; another object scrolls again. */
  readonly inView?: { readonly index: number } | null;
  readonly class?: string;
  readonly id: string;
}

/** Rows beyond the visible ones, on either side. */
const overscanRows = 6;

/** A list that renders only its visible rows. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { label, count, rowHeight, rowAt, keyOf, selected, onSelect, onOpen, id } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const atEnd = useRef(true);
  const wasFollowing = useRef(false);

  const measure = () => {
    const element = box.current;
    if (element === null) return;
    atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 2 * rowHeight;
    setView((before) =>
      before.top === element.scrollTop && before.height === element.clientHeight
        ? before
        : { top: element.scrollTop, height: element.clientHeight },
    );
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    // The end of the growth comes together with its last rows.
    const follows = props.followsEnd === true || wasFollowing.current;
    wasFollowing.current = props.followsEnd === true;
    if (follows && atEnd.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [count]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || selected === undefined || selected === null || selected < 0) return;
    const top = selected * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
  }, [selected, view.height]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || props.inView == null) return;
    const top = props.inView.index * rowHeight;
    if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = Math.max(0, top - element.clientHeight / 3);
  }, [props.inView]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (onSelect === undefined || count === 0) return;
    if (event.key === 'Enter') {
      onOpen?.();
      return;
    }
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const from = selected ?? -1;
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: count - 1,
    };
    const target = targets[event.key];
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onSelect(Math.max(0, Math.min(count - 1, target)));
  };

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscanRows);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscanRows);
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const isSelected = index === selected;
    rows.push(
      // The list has the focus and names its active row.
      // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
      <div
        key={keyOf?.(index) ?? index}
        id={`${id}-${index}`}
        class={isSelected ? 'row selected' : 'row'}
        role={onSelect === undefined ? 'listitem' : 'option'}
        aria-selected={onSelect === undefined ? undefined : isSelected}
        aria-setsize={count}
        aria-posinset={index + 1}
        style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
        onClick={onSelect === undefined ? undefined : () => onSelect(index)}
      >
        {rowAt(index)}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      id={id}
      class={`list ${props.class ?? ''}`}
      role={onSelect === undefined ? 'list' : 'listbox'}
      aria-label={label}
      // What scrolls must be reachable with the keyboard.
      tabIndex={0}
      aria-activedescendant={selected == null || selected < 0 ? undefined : `${id}-${selected}`}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div class="list-space" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}
