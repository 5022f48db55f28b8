import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ExchangeFile, ExchangeFileRequest } from '../../schema/exchange-file.ts';
import { compareHeaders, noteForChat, noteForClient } from '../view/compare.ts';
import { curlOf } from '../view/curl.ts';
import { answerCase, type GoldenCaseFile, requestCase } from '../view/golden-case.ts';
import { type JsonLine, jsonLines, textLines, visible } from '../view/json-lines.ts';
import { chunkLabel, eventLabel, parsed, type TimelineEntry } from '../view/timeline.ts';
import { Axis } from './axis.tsx';
import { count, duration, size, timeOfDay, toneOf } from './format.ts';
import { isStream, type Model, type ShownExchange } from './model.ts';
import { VirtualList } from './virtual-list.tsx';

/** One exchange, both sides of it. */
export function Detail({ model }: { readonly model: Model }): JSX.Element {
  if (model.selectedId === null)
    return (
      <section class="detail nothing" aria-label="The selected exchange">
        <p>Select an exchange to see what it became.</p>
        <p class="keys">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>/</kbd> filter <kbd>p</kbd> pause <kbd>n</kbd> send
        </p>
      </section>
    );
  const { shown, problem } = model;
  return (
    <section class="detail" aria-label="The selected exchange">
      <button type="button" class="back" onClick={() => model.select(null)}>
        ← All exchanges
      </button>
      {problem === null ? null : <p class="banner bad">{problem}</p>}
      {shown === null ? null : <Shown key={shown.detail.row.id} shown={shown} model={model} />}
    </section>
  );
}

function Shown({ shown, model }: { readonly shown: ShownExchange; readonly model: Model }): JSX.Element {
  const { row, file, omitted } = shown.detail;
  const lost = Object.entries(omitted).filter(([, bytes]) => bytes > 0);
  return (
    <>
      <Title shown={shown} model={model} />
      {lost.length === 0 ? null : (
        <p class="banner warn">
          Too long to be kept whole. Left out:{' '}
          {lost.map(([part, bytes]) => `${size(bytes)} of the ${part.replace('_', ' ')}`).join(', ')}.
        </p>
      )}
      <ErrorBanner file={file} />
      <RequestSection file={file} />
      <StreamSection shown={shown} />
      <ResponseSection file={file} isOver={row.outcome !== 'running'} version={shown.version} />
    </>
  );
}

function Title({ shown, model }: { readonly shown: ShownExchange; readonly model: Model }): JSX.Element {
  const { row, file } = shown.detail;
  const tokens = `${count(row.input_tokens)} → ${count(row.output_tokens)}`;
  const details = [
    row.cached_tokens ? `${count(row.cached_tokens)} cached` : null,
    row.reasoning_tokens ? `${count(row.reasoning_tokens)} reasoning` : null,
  ].filter((text) => text !== null);
  const figures: readonly (readonly [string, ComponentChildren])[] = [
    ['Started', timeOfDay(row.started_at)],
    ['Duration', duration(row.duration_ms)],
    ['First event', duration(row.first_event_ms)],
    ['Tokens', details.length === 0 ? tokens : `${tokens} (${details.join(', ')})`],
    ['Speed', row.tokens_per_second === null ? '–' : `${row.tokens_per_second} tok/s`],
    ['Status', statusOf(file)],
    ['Profile', row.profile],
    ...(row.finish_reason === null ? [] : [['Finish', row.finish_reason] as const]),
    ...(row.worker === null ? [] : [['Worker', row.worker] as const]),
    ['Client', row.client ?? '–'],
    ...(row.request_id === null ? [] : [['Request id', row.request_id] as const]),
  ];
  return (
    <header class="title">
      <h2 id="detail-title" tabIndex={-1}>
        {visible(row.model ?? row.path ?? '')}
        <span class={`pill ${toneOf(row.outcome)}`}>{row.outcome}</span>
      </h2>
      <Actions shown={shown} base={model.about?.send_to?.replace(/\/v1\/?$/, '') ?? 'http://127.0.0.1:10000'} />
      <dl class="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? visible(value) : value}</dd>
          </div>
        ))}
      </dl>
    </header>
  );
}

function statusOf({ chat_response, client_response }: ExchangeFile): string {
  const upstream = chat_response?.status ?? null;
  const client = client_response?.status ?? null;
  if (upstream === null || upstream === client) return String(client ?? '–');
  return `${upstream} → ${client ?? '–'}`;
}

function Actions({ shown, base }: { readonly shown: ShownExchange; readonly base: string }): JSX.Element {
  const [done, setDone] = useState('');
  const { file, row } = shown.detail;
  useEffect(() => {
    const timer = setTimeout(() => setDone(''), 3000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async (what: string, request: ExchangeFileRequest, to: string) => {
    try {
      await navigator.clipboard.writeText(curlOf(request, to));
      setDone(`Copied: ${what}`);
    } catch {
      setDone('The browser does not allow copying here.');
    }
  };
  const name = `${(row.model ?? 'exchange').replace(/[^\w.-]+/g, '-').slice(0, 40)}-${row.id}`;
  const save = (golden: GoldenCaseFile | null, what: string) => {
    if (golden === null) setDone(`No case can be made of this ${what}.`);
    else {
      download(golden.name.replace('saved', `saved-${name}`.toLowerCase()), 'text/markdown', golden.markdown);
      setDone('Saved: put it into test/golden');
    }
  };
  const title = `${row.model ?? 'exchange'} ${row.id}, ${row.outcome}`;
  const isWhole = row.omitted_bytes === 0;
  const chat = file.chat_request;
  return (
    <div class="actions">
      <Menu label="Copy as curl">
        <button type="button" role="menuitem" onClick={() => copy('the client’s request', file.client_request, base)}>
          The client’s request
        </button>
        <button
          type="button"
          role="menuitem"
          disabled={chat === null}
          onClick={() => chat !== null && copy('the Chat request', chat, upstreamOf(chat, base))}
        >
          The Chat request
        </button>
      </Menu>
      <Menu label="Save as golden case">
        <button
          type="button"
          role="menuitem"
          disabled={!isWhole}
          onClick={() => save(requestCase(file, title), 'request')}
        >
          Request → Chat request
        </button>
        <button
          type="button"
          role="menuitem"
          disabled={!isWhole || row.outcome === 'running'}
          onClick={() => save(answerCase(file, title), 'answer')}
        >
          Chat answer → Response
        </button>
      </Menu>
      <button
        type="button"
        onClick={() => download(`exchange-${name}.json`, 'application/json', JSON.stringify(file, null, 1))}
      >
        Download JSON
      </button>
      <span class="notice" role="status">
        {done}
      </span>
    </div>
  );
}

/** Where the upstream is, as far as the request says it; else the proxy, which passes Chat requests on. */
function upstreamOf(chat: ExchangeFileRequest, base: string): string {
  const host = chat.headers.find(({ name }) => name === 'host')?.value;
  return host === undefined ? base : `http://${host}`;
}

function Menu({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (box.current !== null) box.current.open = false;
  };
  return (
    <details
      ref={box}
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
        box.current?.querySelector('summary')?.focus();
      }}
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) close();
      }}
    >
      <summary class="button">{label} ▾</summary>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the buttons in it have the keys */}
      <div role="menu" tabIndex={-1} onClick={close}>
        {children}
      </div>
    </details>
  );
}

function ErrorBanner({ file }: { readonly file: ExchangeFile }): JSX.Element | null {
  const { error, outcome, client_response } = file;
  if (error === null && !['aborted', 'protocol_error', 'crashed'].includes(outcome)) return null;
  const message = errorMessage(client_response);
  const cause = typeof error?.['cause'] === 'string' ? error['cause'] : null;
  const code = typeof error?.['code'] === 'string' ? error['code'] : outcome;
  return (
    <div class={outcome === 'aborted' ? 'banner warn' : 'banner bad'} role="alert">
      <strong>{visible(code)}</strong> {visible(message ?? meaningOf(outcome))}
      {cause === null ? null : (
        <details>
          <summary>Cause</summary>
          <pre>{visible(cause)}</pre>
        </details>
      )}
    </div>
  );
}

function meaningOf(outcome: string): string {
  if (outcome === 'aborted') return 'The client or the proxy ended the call before the answer was complete.';
  return outcome === 'protocol_error' ? 'The proxy sent what this service does not expect.' : '';
}

/** The message that the client was sent, as an error or in an event. */
function errorMessage(response: ExchangeFile['client_response']): string | null {
  const last = response?.pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') ?? '';
  const event = isStream(response) ? lastResponse(last) : parsed(last);
  const error = typeof event === 'object' && event !== null && 'error' in event ? event.error : null;
  if (typeof error !== 'object' || error === null || !('message' in error)) return null;
  return String(error.message);
}

/** The Response of a stream's last event that has one. */
function lastResponse(stream: string): unknown {
  const blocks = stream.split('\n\n');
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    const data = blocks[index]?.split('\n').find((line) => line.startsWith('data: {'));
    const event = data === undefined ? null : parsed(data.slice(6));
    if (typeof event === 'object' && event !== null && 'response' in event) return event.response;
  }
  return null;
}

function Section(props: {
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

function RequestSection({ file }: { readonly file: ExchangeFile }): JSX.Element {
  const { client_request: client, chat_request: chat, dropped } = file;
  const [showsHeaders, setShowsHeaders] = useState(false);
  const extra = (
    <>
      <span class="legend">
        <i class="mark changed" /> differs <i class="mark only" /> only here <i class="mark dropped" /> dropped
      </span>
      <button type="button" class="small" aria-pressed={showsHeaders} onClick={() => setShowsHeaders(!showsHeaders)}>
        {showsHeaders ? 'Bodies' : 'Headers'}
      </button>
    </>
  );
  return (
    <Section title="Request" class="request" extra={extra}>
      {dropped.length === 0 ? null : (
        <p class="dropped-list">
          Dropped:{' '}
          {dropped.map((name) => (
            <code key={name}>{visible(name)}</code>
          ))}
        </p>
      )}
      {showsHeaders ? (
        <Headers client={client} chat={chat} />
      ) : (
        <Bodies client={client} chat={chat} dropped={dropped} />
      )}
    </Section>
  );
}

function Headers(props: {
  readonly client: ExchangeFileRequest;
  readonly chat: ExchangeFileRequest | null;
}): JSX.Element {
  const rows = compareHeaders(props.client.headers, props.chat?.headers ?? []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <div class="headers" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Header</th>
            <th scope="col">Client sent</th>
            <th scope="col">Upstream was sent</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, client, chat }) => (
            <tr key={name} class={client === chat ? '' : client === null || chat === null ? 'only' : 'changed'}>
              <th scope="row">{visible(name)}</th>
              <td>{visible(client ?? '–')}</td>
              <td>{visible(chat ?? '–')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bodies(props: {
  readonly client: ExchangeFileRequest;
  readonly chat: ExchangeFileRequest | null;
  readonly dropped: readonly string[];
}): JSX.Element {
  const { client, chat, dropped } = props;
  const [left, right] = [bodyOf(client), chat === null ? null : bodyOf(chat)];
  const both = left?.json != null && right?.json != null;
  return (
    <div class="pair">
      <Body
        title="Client sent"
        request={client}
        body={left}
        compare={both ? { other: right.json, dropped, noteOf: noteForClient(right.json) } : { dropped }}
      />
      {chat === null ? (
        <div class="pane">
          <p class="pane-title">Chat request</p>
          <p class="empty">The upstream was not called.</p>
        </div>
      ) : (
        <Body
          title="It became"
          request={chat}
          body={right}
          compare={both ? { other: left.json, noteOf: noteForChat(left.json) } : {}}
        />
      )}
    </div>
  );
}

interface ReadBody {
  readonly text: string;
  readonly json: unknown;
}

function bodyOf(request: ExchangeFileRequest): ReadBody {
  if (!('body' in request)) return { text: `(not text) ${request.base64}`, json: null };
  return { text: request.body, json: parsed(request.body) };
}

/** Characters of the page's fixed-width font that fit. */
function useColumns(): readonly [{ readonly current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(80);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setColumns(Math.max(30, Math.floor((element.clientWidth - 40) / CHARACTER_WIDTH)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return [box, columns];
}

/** Of 12 px in the usual fixed-width fonts. */
const CHARACTER_WIDTH = 7.25;
const LINE_HEIGHT = 18;

function Body(props: {
  readonly title: string;
  readonly request: ExchangeFileRequest;
  readonly body: ReadBody | null;
  readonly compare: { other?: unknown; dropped?: readonly string[]; noteOf?: (key: string) => string | null };
}): JSX.Element {
  const [box, columns] = useColumns();
  const text = props.body?.text ?? '';
  const lines = useMemo(() => {
    if (props.body === null || text === '') return [];
    return props.body.json === null
      ? textLines(text, columns)
      : jsonLines(props.body.json, { ...props.compare, columns });
  }, [text, columns, 'other' in props.compare, props.compare.dropped?.length]);
  const { method, path } = props.request;
  return (
    <div class="pane" ref={box}>
      <p class="pane-title">
        {props.title}{' '}
        <code>
          {visible(method)} {visible(path)}
        </code>
        <span class="size">{size(new Blob([text]).size)}</span>
      </p>
      <Lines id={`body-${props.title.replace(/\W/g, '')}`} label={`${props.title}, body`} lines={lines} />
    </div>
  );
}

function Lines(props: {
  readonly id: string;
  readonly label: string;
  readonly lines: readonly JsonLine[];
}): JSX.Element {
  return (
    <VirtualList
      id={props.id}
      label={props.label}
      class="code"
      count={props.lines.length}
      rowHeight={LINE_HEIGHT}
      rowAt={(index) => {
        const line = props.lines[index];
        if (line === undefined) return null;
        return (
          <span class={`line ${line.mark ?? ''}`} dir="ltr">
            <span class="gutter" aria-label={line.mark === null || line.mark === 'same' ? undefined : line.mark} />
            {'  '.repeat(line.depth)}
            {line.key === null ? null : <span class="key">"{line.key}"</span>}
            {line.key === null ? null : ': '}
            <span class={line.kind}>{line.text}</span>
            {line.note === null ? null : <span class="note">{line.note}</span>}
          </span>
        );
      }}
    />
  );
}

function StreamSection({ shown }: { readonly shown: ShownExchange }): JSX.Element {
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
        <button type="button" class="small" onClick={props.onClose}>
          Close
        </button>
      </p>
      <Lines id={`raw-${props.title}`} label={props.title} lines={lines} />
    </div>
  );
}

function ResponseSection(props: {
  readonly file: ExchangeFile;
  readonly isOver: boolean;
  readonly version: number;
}): JSX.Element {
  const { client_response } = props.file;
  const [box, columns] = useColumns();
  const text = useMemo(() => {
    if (!props.isOver || client_response === null) return '';
    const body = client_response.pieces.map((piece) => ('text' in piece ? piece.text : `(not text) ${piece.base64}`));
    return body.join('');
  }, [props.isOver, props.version, client_response]);
  const value = useMemo(() => {
    if (text === '') return null;
    return isStream(client_response) ? lastResponse(text) : parsed(text);
  }, [text]);
  const lines = useMemo(() => {
    if (text === '') return [];
    return value === null ? textLines(text, columns) : jsonLines(value, { columns });
  }, [text, value, columns]);
  return (
    <Section title="Final Response" class="response">
      <div class="pane" ref={box}>
        {props.isOver ? null : <p class="empty">The stream is still running.</p>}
        {props.isOver && client_response === null ? <p class="empty">The client was sent nothing.</p> : null}
        <Lines id="final" label="Final Response" lines={lines} />
      </div>
    </Section>
  );
}

function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
