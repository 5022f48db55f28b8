import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

const step = 0.04;
/** Where it is told to be while the first one takes what it needs. */
const unknownShare = 0.25;

const targets: Readonly<Record<string, (from: number) => number | null>> = {
  ArrowLeft: (from) => from - step,
  ArrowUp: (from) => from - step,
  ArrowRight: (from) => from + step,
  ArrowDown: (from) => from + step,
  Home: () => 0,
  End: () => 1,
  Enter: () => null,
};

/**
 * Two neighbours and the line between them, which moves: by dragging, with the arrow keys, to one of the ends with Home and End,
 * back with Enter or a double click. Where it was left is kept in the browser, by name.
 */
export function Split(props: {
  readonly name: string;
  readonly label: string;
  /** How the two stand: side by side, unless there is no room for it, or one above the other. */
  readonly as: 'columns' | 'rows';
  /** The first one's share, 0 to 1; null for as much as it needs. */
  readonly usual: number | null;
  readonly class?: string;
  /** Without a second one there is no line. */
  readonly children: readonly [ComponentChildren, ComponentChildren | null];
}): JSX.Element {
  const { name, label, as, usual, children } = props;
  const key = `responses-extproc inspector ${name}`;
  const [share, setShare] = useState(() => kept(key) ?? usual);
  /** From where it is now, since two keys can come before it is drawn again. */
  const move = (to: (from: number) => number | null) =>
    setShare((before) => {
      const target = to(before ?? unknownShare);
      const value = target === null ? null : Math.min(1, Math.max(0, target));
      keep(key, value);
      return value ?? usual;
    });
  const drag = (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const line = event.currentTarget;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const { left, top, width, height } = line.parentElement?.getBoundingClientRect() ?? new DOMRect();
    const isLying = line.offsetWidth > line.offsetHeight;
    move(() => (isLying ? (event.clientY - top) / height : (event.clientX - left) / width));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  };
  const shares = share === null ? {} : { '--first': `${share}fr`, '--second': `${1 - share}fr` };
  return (
    <div class={`split ${as} ${children[1] === null ? 'single' : ''} ${props.class ?? ''}`} style={shares}>
      {children[0]}
      {children[1] === null ? null : (
        // A rule cannot be moved; a separator that has the focus can (WAI-ARIA 1.2).
        // biome-ignore lint/a11y/useSemanticElements: see above
        <div
          class="splitter"
          role="separator"
          aria-label={label}
          aria-orientation={as === 'columns' ? 'vertical' : 'horizontal'}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round((share ?? unknownShare) * 100)}
          tabIndex={0}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            event.preventDefault();
            event.currentTarget.focus();
          }}
          onPointerMove={drag}
          onDblClick={() => move(() => null)}
          onKeyDown={onKeyDown}
        />
      )}
      {children[1]}
    </div>
  );
}

function kept(key: string): number | null {
  try {
    const value = Number.parseFloat(localStorage.getItem(key) ?? '');
    return value >= 0 && value <= 1 ? value : null;
  } catch {
    return null; // not allowed
  }
}

function keep(key: string, value: number | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, String(value));
  } catch {
    // Then it lasts as long as the page.
  }
}
