import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Copies the whole text, even if only a part is rendered; shows for a moment whether that worked. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [state, setState] = useState<'Copy' | 'Copied' | 'Not allowed'>('Copy');
  useEffect(() => {
    const timer = setTimeout(() => setState('Copy'), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('Copied');
    } catch {
      setState('Not allowed');
    }
  };
  return (
    <button type="button" class="small" aria-label={`Copy ${what}`} onClick={copy}>
      {state}
    </button>
  );
}
