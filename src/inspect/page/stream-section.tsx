import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile } from '../../schema/exchange-file.ts';
import { jsonLines, textLines, visible } from '../view/json-lines.ts';
import { chunkLabel, eventLabel, parsed, type TimelineEntry } from '../view/timeline.ts';
import { Axis } from './axis.tsx';
import { CopyButton } from './copy-button.tsx';
import { count } from './format.ts';
import { Lines, useColumns } from './lines.tsx';
import type { ShownExchange } from './model.ts';
import { Section } from './section.tsx';
import { VirtualList } from './virtual-list.tsx';

/** The upstream’s chunks beside the client’s events. */
export function StreamSection({ shown }: { readonly shown: ShownExchange }): JSX.Element {
  const { timeline, detail } = shown;
  const [selected, setSelected] = useState<number | null>(null);
  const { chat_response, client_response } = detail.file;
  const rows = timeline.rows;
  const isOver = detail.row.outcome !== 'running';
  const picked = selected === null ? undefined : rows[selected];
  const extra = (
    <span class="legend">
      {count(timeline.upstreamTimes.length)} pieces in · {count(timeline.clientTimes.length)} out
    </span>
  );
  const kind = (response: ExchangeFile['chat_response']) => {
    const type = response?.headers.find(({ name }) => name === 'content-type')?.value;
    return response === null ? '' : `${response.status} ${visible(type ?? '')}`;
  };
  return (
    <Section title="Answer as it came" class="stream" extra={extra}>
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
        rowAt={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const { upstream, client, isFirst } = row;
          const at = (upstream ?? client)?.atMs ?? 0;
          return (
            <span class={isFirst ? 'moment first' : 'moment'}>
              <span class="at">{isFirst ? at.toFixed(1) : ''}</span>
              <Entry entry={upstream} label={chunkLabel} />
              <Entry entry={client} label={eventLabel} />
            </span>
          );
        }}
      />
      {picked === undefined ? null : (
        <div class="pair picked">
          <Raw title="Chunk" entry={picked.upstream} onClose={() => setSelected(null)} />
          <Raw title="Event" entry={picked.client} onClose={() => setSelected(null)} />
        </div>
      )}
    </Section>
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

function Raw(props: {
  readonly title: string;
  readonly entry: TimelineEntry | null;
  readonly onClose: () => void;
}): JSX.Element {
  const [box, columns] = useColumns();
  const raw = props.entry?.raw ?? '';
  const lines = useMemo(() => {
    const json = parsed(raw);
    if (raw === '') return [];
    return typeof json === 'object' && json !== null ? jsonLines(json, { columns }) : textLines(raw, columns);
  }, [raw, columns]);
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
