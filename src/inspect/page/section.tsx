import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

/** A part of the detail that can be folded away; `extra` stands beside its title. */
export function Section(props: {
  readonly title: string;
  readonly extra?: ComponentChildren;
  readonly class: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [isOpen, setOpen] = useState(true);
  return (
    <section class={`panel ${props.class} ${isOpen ? '' : 'closed'}`} aria-label={props.title}>
      <h3>
        <button type="button" class="toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span class="chevron">▾</span> {props.title}
        </button>
        {isOpen ? props.extra : null}
      </h3>
      {isOpen ? props.children : null}
    </section>
  );
}
