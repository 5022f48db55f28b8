import type { JSX } from 'preact';
import type { ExchangeFilePiece } from '../../files/exchange-file.ts';
import { duration } from './format.ts';

/** Columns of the drawing; pieces in the same column share a stroke. */
const axisWidth = 600;

/** When pieces came from the upstream (above) and when they were sent to the client (below), on one time axis. */
export function Axis(props: {
  readonly upstream: readonly ExchangeFilePiece[];
  readonly client: readonly ExchangeFilePiece[];
  /** When it ended, in ms; null while it runs. */
  readonly end: number | null;
}): JSX.Element {
  const { upstream, client, end } = props;
  const last = Math.max(upstream.at(-1)?.at_ms ?? 0, client.at(-1)?.at_ms ?? 0, end ?? 0, 1);
  return (
    <div class="axis">
      <span class="from">0</span>
      <svg
        viewBox={`0 0 ${axisWidth} 20`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${upstream.length} messages from the upstream and ${client.length} to the client in ${duration(last)}`}
      >
        <path class="upstream" d={strokes(upstream, last, 1, 9)} />
        <path class="client" d={strokes(client, last, 11, 19)} />
        <path class="line" d={`M0 10H${axisWidth}`} />
      </svg>
      <span class="to">{duration(last)}</span>
    </div>
  );
}

function strokes(pieces: readonly ExchangeFilePiece[], last: number, from: number, to: number): string {
  let path = '';
  let before = -1;
  for (const { at_ms } of pieces) {
    const column = Math.round((at_ms / last) * (axisWidth - 1));
    if (column === before) continue;
    before = column;
    path += `M${column} ${from}V${to}`;
  }
  return path;
}
