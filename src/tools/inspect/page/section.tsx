import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Model } from './model.ts';

/** A part of the detail that can be folded away; `extra` is shown next to its title. */
export function Section(props: {
  readonly title: string;
  readonly extra?: ComponentChildren;
  readonly class: string;
  /** Its share of the height, relative to the others. */
  readonly grow: number;
  readonly model: Model;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { model, title } = props;
  const [isOpen, setOpen] = useState(true);
  const isAlone = model.alone === title;
  const words = ['panel', props.class, isOpen ? '' : 'closed', isAlone ? 'alone' : ''];
  return (
    <section class={words.filter((word) => word !== '').join(' ')} aria-label={title} style={{ '--grow': props.grow }}>
      <h3>
        <button type="button" class="toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span class="chevron">▾</span> {title}
        </button>
        {isOpen ? props.extra : null}
        {isOpen ? (
          <button
            type="button"
            class="small"
            aria-pressed={isAlone}
            aria-label={`${title} alone`}
            title={isAlone ? 'Back to all sections (Esc)' : 'This section alone'}
            onClick={() => model.setAlone(isAlone ? null : title)}
          >
            ⤢
          </button>
        ) : null}
      </h3>
      {isOpen ? props.children : null}
    </section>
  );
}
