import type { JSX } from 'preact';

const step = 0.04;

/**
 * The line between two neighbours, which moves it: by dragging, with the arrow keys, to one of the ends with Home and End, back
 * with Enter or a double click.
 */
export function Splitter(props: {
  readonly label: string;
  /** The direction of the line itself; `bodies` becomes horizontal when its neighbours are stacked. */
  readonly direction: 'vertical' | 'horizontal';
  readonly class?: string;
  /** The first one's share, 0 to 1. */
  readonly share: number;
  /** Null for the default share. */
  readonly onShare: (share: number | null) => void;
}): JSX.Element {
  const { label, direction, share, onShare } = props;
  const set = (value: number) => onShare(Math.min(1, Math.max(0, value)));
  const drag = (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const line = event.currentTarget;
    if (!line.hasPointerCapture(event.pointerId)) return;
    const [before, after] = [line.previousElementSibling, line.nextElementSibling];
    if (before === null || after === null) return;
    const [first, last] = [before.getBoundingClientRect(), after.getBoundingClientRect()];
    const lies = line.offsetWidth > line.offsetHeight;
    const [at, from, to] = lies ? [event.clientY, first.top, last.bottom] : [event.clientX, first.left, last.right];
    if (to > from) set((at - from) / (to - from));
  };
  return (
    // A rule cannot be moved; a separator that has the focus can (WAI-ARIA 1.2).
    // biome-ignore lint/a11y/useSemanticElements: see above
    <div
      class={`splitter ${direction} ${props.class ?? ''}`}
      role="separator"
      aria-label={label}
      aria-orientation={direction}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
        event.currentTarget.focus();
      }}
      onPointerMove={drag}
      onDblClick={() => onShare(null)}
      onKeyDown={(event) => {
        const targets: Readonly<Record<string, number | null>> = {
          ArrowLeft: share - step,
          ArrowUp: share - step,
          ArrowRight: share + step,
          ArrowDown: share + step,
          Home: 0,
          End: 1,
          Enter: null,
        };
        const target = targets[event.key];
        if (target === undefined) return;
        event.preventDefault();
        if (target === null) onShare(null);
        else set(target);
      }}
    />
  );
}
