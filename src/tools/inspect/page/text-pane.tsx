import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isWithin } from '../../../formats/json/loose.ts';
import { type Explained, type JsonLine, writeJsonLines, writeTextLines } from '../view/json-lines.ts';
import { parseShown } from '../view/timeline.ts';
import { SmallButton } from './section.tsx';
import { VirtualList } from './virtual-list.tsx';

/** Width of a character at 12 px in the usual fixed-width fonts. */
const characterWidth = 7.25;
const lineHeight = 18;

/** A text as lines: JSON with what became of its values, anything else as it is. Only those in view are rendered. */
export function TextPane(props: {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly label: string;
  /** Names the text in the labels of the buttons. */
  readonly what: string;
  readonly text: string;
  readonly find: string;
  readonly buttons?: ComponentChildren;
  /** Paths of values that are folded, unless a text is searched for or something in them is linked. */
  readonly folded?: readonly string[];
  /** The path of the value that is scrolled to at first. */
  readonly start?: string | null;
  /** The fate of the values in the text; undefined while that is not known. */
  readonly explained?: ReadonlyMap<string, Explained> | undefined;
  readonly selected?: number;
  readonly onSelect?: (line: JsonLine, index: number) => void;
  /** Paths that belong to the value that is selected elsewhere, whose lines are scrolled into view. */
  readonly linked?: readonly string[];
}): JSX.Element {
  const { what, text, find, explained, selected = -1, onSelect, linked = none, folded = none, start = null } = props;
  const box = useRef<HTMLDivElement>(null);
  /** 0 until the width is known: breaking a long body into lines twice takes time. */
  const [columns, setColumns] = useState(0);
  /** True once a person has scrolled or clicked in the pane, which then stays where it is. */
  const [isMoved, setMoved] = useState(false);
  const [inView, setInView] = useState<{ readonly index: number } | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setColumns(Math.max(30, Math.floor((element.clientWidth - 40) / characterWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  const json = useMemo(() => parseShown(text), [text]);
  const isOpen = find !== '' || folded.some((path) => linked.some((each) => isWithin(each, path)));
  const closed = isOpen ? none : folded;
  const lines = useMemo(() => {
    if (text === '' || columns === 0) return [];
    return json === null
      ? writeTextLines(text, columns, find)
      : writeJsonLines(json, { explained, find, columns, folded: closed });
  }, [text, columns, explained, find, closed]);
  const found = useMemo(() => lines.flatMap(({ isFound }, index) => (isFound ? [index] : [])), [lines]);
  const isLinked = ({ path }: JsonLine) => path !== null && linked.some((each) => isWithin(path, each));
  const firstLinked = selected === -1 ? lines.findIndex(isLinked) : -1;
  useEffect(() => {
    if (firstLinked >= 0) setInView({ index: firstLinked });
  }, [firstLinked, linked]);
  const first = useMemo(() => (start === null ? -1 : lines.findIndex(({ path }) => path === start)), [lines, start]);
  const isElsewhere = isMoved || inView !== null || selected !== -1;
  const move = () => setMoved(true);
  return (
    <div class="pane" ref={box} onWheel={move} onPointerDown={move} onTouchMove={move} onKeyDown={move}>
      <p class="pane-title">
        {props.title}
        <span class="buttons">
          <FindCount found={found} what={what} onGo={(index) => setInView({ index })} />
          {text === '' ? null : <CopyButton text={text} what={what} />}
          {props.buttons}
        </span>
      </p>
      <VirtualList
        id={props.id}
        label={props.label}
        class="code"
        items={lines}
        rowHeight={lineHeight}
        selected={selected}
        onSelect={
          onSelect &&
          ((index) => {
            const line = lines[index];
            if (line !== undefined) onSelect(line, index);
          })
        }
        inView={inView}
        begin={isElsewhere ? -1 : first}
        rowOf={(line) => <Line line={line} isLinked={isLinked(line)} />}
      />
    </div>
  );
}

const none: readonly string[] = [];

function Line({ line, isLinked }: { readonly line: JsonLine; readonly isLinked: boolean }): JSX.Element {
  const { mark, isFound, isFolded, depth, key, kind, text, note } = line;
  const words = ['line', mark ?? '', isFound ? 'found' : '', isFolded ? 'folded' : '', isLinked ? 'linked' : ''];
  return (
    <span class={words.filter((word) => word !== '').join(' ')} dir="ltr">
      <span class="gutter" aria-label={mark === null || mark === 'same' ? undefined : mark} />
      {'  '.repeat(depth)}
      {key === null ? null : <span class="key">"{key}"</span>}
      {key === null ? null : ': '}
      <span class={kind}>{text}</span>
      {note === null ? null : <span class="note">{note}</span>}
    </span>
  );
}

/** How many lines contain the search text, with a button from one to the next; nothing if none does. */
export function FindCount(props: {
  readonly found: readonly number[];
  readonly what: string;
  readonly onGo: (index: number) => void;
}): JSX.Element | null {
  const { found, what, onGo } = props;
  const [at, setAt] = useState(-1);
  if (found.length === 0) return null;
  const next = () => {
    const then = (at + 1) % found.length;
    setAt(then);
    onGo(found[then] ?? 0);
  };
  const says = `${at === -1 || at >= found.length ? '' : `${at + 1} of `}${found.length} found ↓`;
  return <SmallButton says={says} aria-label={`Next of ${found.length} found in ${what}`} onClick={next} />;
}

/** Copies the whole text, even if only a part is rendered; shows for a moment whether that worked. */
export function CopyButton(props: { readonly text: string; readonly what: string; readonly as?: string }): JSX.Element {
  const { text, what, as = 'Copy' } = props;
  const [state, setState] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setState(null), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const show = (what: string) => () => setState(what);
  const copy = () => navigator.clipboard.writeText(text).then(show('Copied'), show('Not allowed'));
  return <SmallButton says={state ?? as} aria-label={`${as} ${what}`} onClick={copy} />;
}
