import type { ComponentChildren, JSX } from 'preact';
import { usualLayout } from './layout.ts';
import type { Model } from './model.ts';
import { Splitter } from './splitter.tsx';

/** The client's side next to the upstream's, with a movable line between them. */
export function Pair(props: {
  readonly model: Model;
  readonly class?: string;
  readonly children: readonly [ComponentChildren, ComponentChildren];
}): JSX.Element {
  const { model, children } = props;
  const { bodies, picked } = model.layout;
  return (
    <div
      class={`pair ${props.class ?? ''}`}
      style={{
        '--first': `${bodies}fr`,
        '--second': `${1 - bodies}fr`,
        '--picked': Math.min(99, picked / Math.max(0.01, 1 - picked)),
      }}
    >
      {children[0]}
      <Splitter
        label="Width of both sides"
        direction="vertical"
        class="bodies"
        share={bodies}
        onShare={(share) => model.setLayout({ bodies: share ?? usualLayout.bodies })}
      />
      {children[1]}
    </div>
  );
}
