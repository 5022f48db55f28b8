import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFile, ExchangeFileRequest } from '../../schema/exchange-file.ts';
import { compareHeaders, noteForChat, noteForClient } from '../view/compare.ts';
import { jsonLines, textLines, visible } from '../view/json-lines.ts';
import { parsed } from '../view/timeline.ts';
import { CopyButton } from './copy-button.tsx';
import { size } from './format.ts';
import { Lines, useColumns } from './lines.tsx';
import { Section } from './section.tsx';

/** The client’s request beside the Chat request: bodies, or headers. */
export function RequestSection({ file }: { readonly file: ExchangeFile }): JSX.Element {
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
        {text === '' ? null : <CopyButton text={text} what={`the body: ${props.title}`} />}
      </p>
      <Lines id={`body-${props.title.replace(/\W/g, '')}`} label={`${props.title}, body`} lines={lines} />
    </div>
  );
}
