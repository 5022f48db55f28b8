import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile } from '../../../filter/wire/schema/exchange-file.ts';
import { createDeltaTexts } from '../view/delta-texts.ts';
import { jsonLines, textLines, visible } from '../view/json-lines.ts';
import { chunkLabel, eventLabel, parsed, type TimelineEntry, type TimelineRow } from '../view/timeline.ts';
import { Axis } from './axis.tsx';
import { CopyButton } from './copy-button.tsx';
import { FindCount } from './find-count.tsx';
import { count } from './format.ts';
import { usualLayout } from './layout.ts';
import { Lines, useColumns } from './lines.tsx';
import type { Model } from './model.ts';
import { Pair } from './pair.tsx';
import { Section } from './section.tsx';
import type { ShownExchange } from './shown-exchange.ts';
import { Splitter } from './splitter.tsx';
import { VirtualList } from './virtual-list.tsx';

/** The upstream’s chunks next to the client’s events. */
export function StreamSection({ shown, model }: { readonly shown: ShownExchange; readonly model: Model }): JSX.Element {
  const { timeline, detail } = shown;
  const [selected, setSelected] = useState<number | null>(null);
  const { chat_response, client_response } = detail.file;
  const rows = timeline.rows;
  const isOver = detail.row.outcome !== 'running';
  const [inView, setInView] = useState<{ readonly index: number } | null>(null);
  const find = model.list.find.toLowerCase();
  const found = useMemo(() => foundRows(rows, find), [rows, shown.version, find]);
  const picked = selected === null ? undefined : rows[selected];
  const extra = (
    <>
      <span class="legend">
        {linesOf(rows, 'upstream', 'chunk')} in · {linesOf(rows, 'client', 'event')} out
      </span>
      <FindCount found={[...found]} what="the answer" onGo={(index) => setInView({ index })} />
    </>
  );
  const kind = (response: ExchangeFile['chat_response']) => {
    const type = response?.headers.find(({ name }) => name === 'content-type')?.value;
    return response === null ? '' : `${response.status} ${visible(type ?? '')}`;
  };
  return (
    <Section title="Answer as it arrived" class="stream" grow={model.layout.stream} model={model} extra={extra}>
      <Axis
        upstream={timeline.upstreamTimes}
        client={timeline.clientTimes}
        end={isOver ? detail.row.duration_ms : null}
      />
      <p class="columns" aria-hidden="true">
        <span>ms</span>
        <span>
          Upstream <code>{kind(chat_response)}</code>
        </span>
        <span>
          Client <code>{kind(client_response)}</code>
        </span>
      </p>
      <VirtualList
        id="timeline"
        label="Upstream’s chunks and the events they became, in order of time"
        class="code timeline"
        count={rows.length}
        rowHeight={20}
        followsEnd={!isOver}
        selected={selected}
        onSelect={setSelected}
        inView={inView}
        rowAt={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const { upstream, client, isFirst } = row;
          const at = (upstream ?? client)?.atMs ?? 0;
          return (
            <span class={`moment ${isFirst ? 'first' : ''} ${found.has(index) ? 'found' : ''}`}>
              <span class="at">{isFirst ? at.toFixed(1) : ''}</span>
              <Entry entry={upstream} label={chunkLabel} />
              <Entry entry={client} label={eventLabel} />
            </span>
          );
        }}
      />
      {picked === undefined ? null : (
        <Splitter
          label="Height of the selected chunk and event"
          direction="horizontal"
          share={1 - model.layout.picked}
          onShare={(share) => model.setLayout({ picked: share === null ? usualLayout.picked : 1 - share })}
        />
      )}
      {picked === undefined ? null : (
        <Pair model={model} class="picked">
          <Raw title="Chunk" entry={picked.upstream} find={model.list.find} onClose={() => setSelected(null)} />
          <Raw title="Event" entry={picked.client} find={model.list.find} onClose={() => setSelected(null)} />
        </Pair>
      )}
    </Section>
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

function Raw(props: {
  readonly title: string;
  readonly entry: TimelineEntry | null;
  readonly find: string;
  readonly onClose: () => void;
}): JSX.Element {
  const [box, columns] = useColumns();
  const raw = props.entry?.raw ?? '';
  const lines = useMemo(() => {
    const json = parsed(raw);
    if (raw === '') return [];
    return typeof json === 'object' && json !== null
      ? jsonLines(json, { columns, find: props.find })
      : textLines(raw, columns, props.find);
  }, [raw, columns, props.find]);
  return (
    <div class="pane" ref={box}>
      <p class="pane-title">
        {props.title} {props.entry === null ? null : <code>{props.entry.atMs.toFixed(1)} ms</code>}
        {raw === '' ? null : <CopyButton text={raw} what={`this ${props.title.toLowerCase()}`} />}
        <button type="button" class="small" onClick={props.onClose}>
          Close
        </button>
      </p>
      <Lines id={`raw-${props.title}`} label={props.title} lines={lines} />
    </div>
  );
}

/** `1 chunk`, `12 chunks`: the lines of a side. */
function linesOf(rows: readonly TimelineRow[], side: 'upstream' | 'client', what: string): string {
  const number = rows.filter((row) => row[side] !== null).length;
  return `${count(number)} ${number === 1 ? what : `${what}s`}`;
}
