import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** How many lines contain the search text, with buttons from one to the next; nothing if none does. */
export function FindCount(props: {
  /** Where in the list it is. */
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
  return (
    <button
      type="button"
      class="small found-count"
      aria-label={`Next of ${found.length} found in ${what}`}
      onClick={next}
    >
      {at === -1 || at >= found.length ? '' : `${at + 1} of `}
      {found.length} found ↓
    </button>
  );
}
