import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile } from '../../files/exchange-file.ts';
import { isEventStream } from '../view/answer-parts.ts';
import { createDeltaTexts } from '../view/delta-texts.ts';
import { escapeInvisible } from '../view/json-lines.ts';
import { buildTimeline, labelChunk, labelEvent, type TimelineEntry, type TimelineRow } from '../view/timeline.ts';
import { formatCount } from './format.ts';
import type { ShownExchange } from './model.ts';
import { SmallButton } from './section.tsx';
import { FindCount, TextPane } from './text-pane.tsx';
import { VirtualList } from './virtual-list.tsx';

export function StreamPane({ detail, model }: ShownExchange): JSX.Element {
  const { chat_response, client_response } = detail.file;
  const { chat_response: upstream, client_response: client } = detail.pieces;
  const rows = useMemo(() => {
    const ofClient = { pieces: client, isStream: isEventStream(client_response) };
    return buildTimeline({ pieces: upstream, isStream: isEventStream(chat_response) }, ofClient);
  }, [detail]);
  const [selected, setSelected] = useState(-1);
  const [inView, setInView] = useState<{ readonly index: number } | null>(null);
  const isOver = detail.row.outcome !== 'running';
  const find = model.find.toLowerCase();
  const found = useMemo(() => findRows(rows, find), [rows, find]);
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
    <>
      <p class="pane-title">
        {countLines(rows, 'upstream', 'chunk')} in · {countLines(rows, 'client', 'event')} out{' '}
        <FindCount found={[...found]} what="the answer" onGo={(index) => setInView({ index })} />
      </p>
      <p class="headings" aria-hidden="true">
        <span>ms</span>
        <span>
          Upstream <code>{describeKind(chat_response)}</code>
        </span>
        <span>
          Client <code>{describeKind(client_response)}</code>
        </span>
      </p>
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
        <div class="sides picked">
          {raw('upstream', 'Chunk')}
          {raw('client', 'Event')}
        </div>
      )}
    </>
  );
}

function Moment({ row, isFound }: { readonly row: TimelineRow; readonly isFound: boolean }): JSX.Element {
  const { upstream, client, isFirst } = row;
  return (
    <span class={`moment ${isFirst ? 'first' : ''} ${isFound ? 'found' : ''}`}>
      <span class="at">{isFirst ? (upstream ?? client)?.atMs.toFixed(1) : ''}</span>
      {renderEntry(upstream, labelChunk)}
      {renderEntry(client, labelEvent)}
    </span>
  );
}

function renderEntry(entry: TimelineEntry | null, label: (entry: TimelineEntry) => string): JSX.Element {
  if (entry === null) return <span class="entry" />;
  return (
    <span class={`entry ${entry.kind}`} dir="ltr">
      {escapeInvisible(label(entry))}
    </span>
  );
}

/** Finds the rows that contain this text, which is in lower case, also where several deltas add up to it. */
function findRows(rows: readonly TimelineRow[], find: string): ReadonlySet<number> {
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

function describeKind(response: ExchangeFile['chat_response']): string {
  const type = response?.headers.find(({ name }) => name === 'content-type')?.value;
  return response === null ? '' : `${response.status} ${escapeInvisible(type ?? '')}`;
}

/** `1 chunk`, `12 chunks`: the lines of a side. */
function countLines(rows: readonly TimelineRow[], side: 'upstream' | 'client', what: string): string {
  const number = rows.filter((row) => row[side] !== null).length;
  return `${formatCount(number)} ${number === 1 ? what : `${what}s`}`;
}
