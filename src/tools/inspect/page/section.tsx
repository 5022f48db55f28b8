import type { ButtonHTMLAttributes, ComponentChildren, JSX } from 'preact';
import { escapeInvisible } from '../view/json-lines.ts';
import type { Model } from './model.ts';

/** A part of the detail, which can be shown alone; `extra` is next to its title. */
export function Section(props: {
  readonly title: string;
  readonly extra?: ComponentChildren;
  readonly class: string;
  readonly model: Model;
  /** Receives the element, whose size it keeps. */
  readonly size?: (element: HTMLElement | null) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { model, title } = props;
  const isAlone = model.alone === title;
  return (
    <section ref={props.size ?? null} class={`panel ${props.class} ${isAlone ? 'alone' : ''}`} aria-label={title}>
      <h3>
        <span class="name">{title}</span>
        {props.extra}
        <SmallButton
          says="⤢"
          aria-pressed={isAlone}
          aria-label={`${title} alone`}
          title={isAlone ? 'Back to all sections (Esc)' : 'This section alone'}
          onClick={() => model.set({ alone: isAlone ? null : title })}
        />
      </h3>
      {props.children}
    </section>
  );
}

type ButtonProps = ButtonHTMLAttributes & { readonly says: string };

export function Button({ says, ...attributes }: ButtonProps): JSX.Element {
  return (
    <button type="button" {...attributes}>
      {says}
    </button>
  );
}

/** A button that stands among words. */
export function SmallButton(props: ButtonProps): JSX.Element {
  return <Button class="small" {...props} />;
}

export function Problem({ says }: { readonly says: string | null }): JSX.Element | null {
  if (says === null) return null;
  return (
    <p class="banner bad" role="alert">
      {says}
    </p>
  );
}

/** Shows names with their values; a name without a value is left out. */
export function Figures(props: { readonly of: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  const known = props.of.filter(([, value]) => value !== null && value !== '');
  return (
    <dl class="figures">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt> <dd>{typeof value === 'string' ? escapeInvisible(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}
