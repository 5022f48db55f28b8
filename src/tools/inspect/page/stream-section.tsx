import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile, ExchangeFilePiece } from '../../files/exchange-file.ts';
import { createDeltaTexts } from '../view/delta-texts.ts';
import { isStream } from '../view/final-response.ts';
import type { ExchangeDetail } from '../view/join-parts.ts';
import { visible } from '../view/json-lines.ts';
import { chunkLabel, eventLabel, type TimelineEntry, type TimelineRow, timelineOf } from '../view/timeline.ts';
import { count, duration } from './format.ts';
import type { Model } from './model.ts';
import { Section, SmallButton } from './section.tsx';
import { Split } from './split.tsx';
import { FindCount, TextPane } from './text-pane.tsx';
import { VirtualList } from './virtual-list.tsx';

/** The upstream’s chunks next to the client’s events. */
export function StreamSection(props: { readonly detail: ExchangeDetail; readonly model: Model }): JSX.Element {
  const { detail, model } = props;
  const { chat_response, client_response } = detail.file;
  const { chat_response: upstream, client_response: client } = detail.pieces;
  const rows = useMemo(
    () =>
      timelineOf(
        { pieces: upstream, isStream: isStream(chat_response) },
        { pieces: client, isStream: isStream(client_response) },
      ),
    [detail],
  );
  const [selected, setSelected] = useState(-1);
  const [inView, setInView] = useState<{ readonly index: number } | null>(null);
  const isOver = detail.row.outcome !== 'running';
  const find = model.find.toLowerCase();
  const found = useMemo(() => foundRows(rows, find), [rows, find]);
  const picked = rows[selected];
  const raw = (side: 'upstream' | 'client', title: string) => (
    <TextPane
      id={`raw-${side}`}
      title={
        <>
          {title} {picked?.[side] ? <code>{picked[side].atMs.toFixed(1)} ms</code> : null}
        </>
      }
      label={title}
      what={`this ${title.toLowerCase()}`}
      text={picked?.[side]?.raw ?? ''}
      find={model.find}
      buttons={<SmallButton says="Close" onClick={() => setSelected(-1)} />}
    />
  );
  return (
    <Section
      title="Answer as it arrived"
      class="stream"
      model={model}
      extra={
        <>
          <span class="legend">
            {linesOf(rows, 'upstream', 'chunk')} in · {linesOf(rows, 'client', 'event')} out
          </span>
          <FindCount found={[...found]} what="the answer" onGo={(index) => setInView({ index })} />
        </>
      }
    >
      <Axis upstream={upstream} client={client} end={isOver ? detail.row.duration_ms : null} />
      <p class="headings" aria-hidden="true">
        <span>ms</span>
        <span>
          Upstream <code>{kindOf(chat_response)}</code>
        </span>
        <span>
          Client <code>{kindOf(client_response)}</code>
        </span>
      </p>
      <Split name="picked" label="Height of the selected chunk and event" as="rows" usual={0.55}>
        <VirtualList
          id="timeline"
          label="Upstream’s chunks and the events they became, in order of time"
          class="code timeline"
          items={rows}
          rowHeight={20}
          followsEnd={!isOver}
          selected={selected}
          onSelect={setSelected}
          inView={inView}
          rowOf={(row, index) => <Moment row={row} isFound={found.has(index)} />}
        />
        {picked === undefined ? null : (
          <Split name="sides" label="Width of both sides" as="columns" usual={0.5} class="picked">
            {raw('upstream', 'Chunk')}
            {raw('client', 'Event')}
          </Split>
        )}
      </Split>
    </Section>
  );
}

/** Columns of the drawing; pieces in the same column share a stroke. */
const axisWidth = 600;

/** When pieces came from the upstream (above) and when they were sent to the client (below), on one time axis. */
function Axis(props: {
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

function Moment({ row, isFound }: { readonly row: TimelineRow; readonly isFound: boolean }): JSX.Element {
  const { upstream, client, isFirst } = row;
  return (
    <span class={`moment ${isFirst ? 'first' : ''} ${isFound ? 'found' : ''}`}>
      <span class="at">{isFirst ? (upstream ?? client)?.atMs.toFixed(1) : ''}</span>
      <Entry entry={upstream} label={chunkLabel} />
      <Entry entry={client} label={eventLabel} />
    </span>
  );
}

function Entry(props: {
  readonly entry: TimelineEntry | null;
  readonly label: (entry: TimelineEntry) => string;
}): JSX.Element {
  if (props.entry === null) return <span class="entry" />;
  return (
    <span class={`entry ${props.entry.kind}`} dir="ltr">
      {visible(props.label(props.entry))}
    </span>
  );
}

/** The rows that have this text, which is in lower case, or a share of it where deltas add up to it; in their order. */
function foundRows(rows: readonly TimelineRow[], find: string): ReadonlySet<number> {
  if (find === '') return new Set();
  const upstream = createDeltaTexts<number>();
  const client = createDeltaTexts<number>();
  const whole = rows.flatMap((row, index) => {
    upstream.add(row.upstream?.raw ?? '', index);
    client.add(row.client?.raw ?? '', index);
    return [row.upstream, row.client].some((entry) => entry?.raw.toLowerCase().includes(find)) ? [index] : [];
  });
  return new Set([...whole, ...upstream.find([find]), ...client.find([find])].sort((a, b) => a - b));
}

function kindOf(response: ExchangeFile['chat_response']): string {
  const type = response?.headers.find(({ name }) => name === 'content-type')?.value;
  return response === null ? '' : `${response.status} ${visible(type ?? '')}`;
}

/** `1 chunk`, `12 chunks`: the lines of a side. */
function linesOf(rows: readonly TimelineRow[], side: 'upstream' | 'client', what: string): string {
  const number = rows.filter((row) => row[side] !== null).length;
  return `${count(number)} ${number === 1 ? what : `${what}s`}`;
}
