import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonLine } from '../view/json-lines.ts';
import { VirtualList } from './virtual-list.tsx';

/** Width of a character at 12 px in the usual fixed-width fonts. */
const characterWidth = 7.25;
const lineHeight = 18;

/** Characters of the page's fixed-width font that fit. */
export function useColumns(): readonly [{ readonly current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(80);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setColumns(Math.max(30, Math.floor((element.clientWidth - 40) / characterWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return [box, columns];
}

/** Lines of a body; only those in view are rendered. */
export function Lines(props: {
  readonly id: string;
  readonly label: string;
  readonly lines: readonly JsonLine[];
  readonly selected?: number | null;
  readonly onSelect?: (index: number) => void;
  /** Lines that belong to the selection on the other side. */
  readonly isLinked?: (line: JsonLine) => boolean;
  readonly inView?: { readonly index: number } | null;
}): JSX.Element {
  const { lines, isLinked } = props;
  return (
    <VirtualList
      id={props.id}
      label={props.label}
      class="code"
      count={lines.length}
      rowHeight={lineHeight}
      selected={props.selected ?? null}
      {...(props.onSelect === undefined ? {} : { onSelect: props.onSelect })}
      inView={props.inView ?? null}
      rowAt={(index) => {
        const line = lines[index];
        if (line === undefined) return null;
        const words = ['line', line.mark ?? '', line.isFound ? 'found' : '', isLinked?.(line) ? 'linked' : ''];
        return (
          <span class={words.filter((word) => word !== '').join(' ')} dir="ltr">
            <span class="gutter" aria-label={line.mark === null || line.mark === 'same' ? undefined : line.mark} />
            {'  '.repeat(line.depth)}
            {line.key === null ? null : <span class="key">"{line.key}"</span>}
            {line.key === null ? null : ': '}
            <span class={line.kind}>{line.text}</span>
            {line.note === null ? null : <span class="note">{line.note}</span>}
          </span>
        );
      }}
    />
  );
}

/** Which lines contain the search text. */
export function foundIn(lines: readonly JsonLine[]): readonly number[] {
  return lines.flatMap(({ isFound }, index) => (isFound ? [index] : []));
}
