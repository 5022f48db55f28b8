import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const overscanRows = 6;

/** A list of which only the visible rows are rendered; with `onSelect`, the keys move its selection. */
export function VirtualList<Item>(props: {
  readonly id: string;
  readonly label: string;
  readonly class?: string;
  readonly items: readonly Item[];
  readonly rowHeight: number;
  readonly rowOf: (item: Item, index: number) => ComponentChildren;
  readonly keyOf?: (item: Item) => string | number;
  /** Index of the row that the arrow keys move from; -1 without a selection. */
  readonly selected?: number;
  readonly onSelect?: ((index: number) => void) | undefined;
  readonly onOpen?: () => void;
  /** True to stay at the end while the list grows, if it is scrolled there. */
  readonly followsEnd?: boolean;
  /** A row to scroll to. A new object with the same index scrolls again. */
  readonly inView?: { readonly index: number } | null;
  /** The row that is kept at the top while rows or the list's height change; with -1, the list stays where it was scrolled. */
  readonly begin?: number;
}): JSX.Element {
  const { id, label, items, rowHeight, keyOf, selected = -1, onSelect, inView = null, begin = -1 } = props;
  const count = items.length;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const atEnd = useRef(true);
  const wasFollowing = useRef(false);

  const measure = () => {
    const { scrollTop: top = 0, clientHeight: height = 0, scrollHeight = 0 } = box.current ?? {};
    atEnd.current = top + height >= scrollHeight - 2 * rowHeight;
    setView((before) => (before.top === top && before.height === height ? before : { top, height }));
  };
  /** Scrolls only as far as it must to show the row, and leaves a margin. */
  const scrollTo = (index: number, margin: number) => {
    const element = box.current;
    if (element === null || index < 0) return;
    const top = index * rowHeight;
    const least = top + rowHeight - element.clientHeight;
    if (top < element.scrollTop) element.scrollTop = top - margin;
    else if (least > element.scrollTop) element.scrollTop = least + margin;
  };

  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current !== null) observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    // The last rows arrive together with the end of the growth.
    const follows = props.followsEnd === true || wasFollowing.current;
    wasFollowing.current = props.followsEnd === true;
    if (follows && atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);
  useLayoutEffect(() => scrollTo(selected, 0), [selected, view.height]);
  useLayoutEffect(() => {
    if (begin !== -1 && box.current !== null) box.current.scrollTop = begin * rowHeight;
  }, [begin, count, view.height]);
  useLayoutEffect(() => scrollTo(inView?.index ?? -1, view.height / 3), [inView]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (onSelect === undefined || count === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter') props.onOpen?.();
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: count - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    onSelect(Math.max(0, Math.min(count - 1, target)));
  };

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscanRows);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscanRows);
  const shown = items.slice(first, last).map((item, offset) => [first + offset, item] as const);
  return (
    <div
      ref={box}
      id={id}
      class={`list ${props.class ?? ''}`}
      // The list asks for this height, and may get less.
      style={{ flexBasis: `min(${count * rowHeight}px, 60vh)` }}
      role={onSelect === undefined ? 'list' : 'listbox'}
      aria-label={label}
      // A list that scrolls must be reachable with the keyboard.
      tabIndex={0}
      aria-activedescendant={selected < 0 ? undefined : `${id}-${selected}`}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: `${count * rowHeight}px` }}>
        {shown.map(([index, item]) => (
          // The list has the focus and names its active row.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
          <div
            key={keyOf?.(item) ?? index}
            id={`${id}-${index}`}
            class={index === selected ? 'row selected' : 'row'}
            role={onSelect === undefined ? 'listitem' : 'option'}
            aria-selected={onSelect === undefined ? undefined : index === selected}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
            onClick={() => onSelect?.(index)}
          >
            {props.rowOf(item, index)}
          </div>
        ))}
      </div>
    </div>
  );
}
