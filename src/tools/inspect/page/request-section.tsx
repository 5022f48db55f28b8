import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { isWithin } from '../../../filter/wire/json/paths.ts';
import type { ExchangeFileRequest } from '../../../filter/wire/schema/exchange-file.ts';
import { compareHeaders } from '../view/compare-headers.ts';
import type { Account, ExplainedBodies } from '../view/explained.ts';
import { type Explained, type JsonLine, jsonLines, textLines, visible } from '../view/json-lines.ts';
import { parsed } from '../view/timeline.ts';
import { CopyButton } from './copy-button.tsx';
import { FindCount } from './find-count.tsx';
import { size } from './format.ts';
import { foundIn, Lines, useColumns } from './lines.tsx';
import type { Model } from './model.ts';
import { Pair } from './pair.tsx';
import { Section } from './section.tsx';
import type { ShownExchange } from './shown-exchange.ts';
import { useExplanation } from './use-explanation.ts';

/** The client’s request next to the Chat request: bodies with the explanation of each field, or headers. */
export function RequestSection({
  shown,
  model,
}: {
  readonly shown: ShownExchange;
  readonly model: Model;
}): JSX.Element {
  const { client_request: client, chat_request: chat, dropped } = shown.detail.file;
  const [showsHeaders, setShowsHeaders] = useState(false);
  const explanation = useExplanation(shown);
  const isExplained = explanation !== null && typeof explanation === 'object' && 'client' in explanation;
  const extra = (
    <>
      <span class="legend">
        <i class="mark changed" /> rewritten <i class="mark only" /> only here <i class="mark dropped" /> dropped
      </span>
      {explanation === 'asked' ? <span class="legend">explaining …</span> : null}
      <button type="button" class="small" aria-pressed={showsHeaders} onClick={() => setShowsHeaders(!showsHeaders)}>
        {showsHeaders ? 'Bodies' : 'Headers'}
      </button>
    </>
  );
  return (
    <Section title="Request" class="request" grow={model.layout.request} model={model} extra={extra}>
      {dropped.length === 0 ? null : (
        <p class="dropped-list">
          Dropped:{' '}
          {dropped.map((name) => (
            <code key={name}>{visible(name)}</code>
          ))}
        </p>
      )}
      {explanation !== null && typeof explanation === 'object' && 'problem' in explanation ? (
        <p class="dropped-list">Not explained: {visible(explanation.problem)}</p>
      ) : null}
      {showsHeaders ? (
        <Headers client={client} chat={chat} />
      ) : (
        <Bodies client={client} chat={chat} model={model} explained={isExplained ? explanation : null} />
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

type Side = 'client' | 'chat';

function Bodies(props: {
  readonly client: ExchangeFileRequest;
  readonly chat: ExchangeFileRequest | null;
  readonly model: Model;
  readonly explained: ExplainedBodies | null;
}): JSX.Element {
  const { client, chat, model, explained } = props;
  const [left, right] = useMemo(() => [bodyOf(client), chat === null ? null : bodyOf(chat)], [client, chat]);
  const [selected, setSelected] = useState<{
    readonly side: Side;
    readonly line: JsonLine;
    readonly index: number;
  } | null>(null);
  const path = selected?.line.path ?? null;
  const account = selected === null || path === null ? null : (explained?.accountOf(selected.side, path) ?? null);
  const ofSide = (side: Side) => ({
    model,
    explained: explained?.[side],
    selected: selected?.side === side ? selected.index : null,
    onSelect: (line: JsonLine, index: number) => setSelected({ side, line, index }),
    linked: account === null ? none : side === 'client' ? account.from : account.to,
    // The side that was selected stays where it is.
    follows: selected !== null && selected.side !== side,
  });
  return (
    <>
      <Pair model={model}>
        <Body title="Client sent" request={client} body={left} {...ofSide('client')} />
        {chat === null ? (
          <div class="pane">
            <p class="pane-title">Chat request</p>
            <p class="empty">The upstream was not called.</p>
          </div>
        ) : (
          <Body title="It became" request={chat} body={right} {...ofSide('chat')} />
        )}
      </Pair>
      {account === null ? null : <AccountOf account={account} onClose={() => setSelected(null)} />}
    </>
  );
}

const none: readonly string[] = [];

/** How the selected value was translated, and why. */
function AccountOf({ account, onClose }: { readonly account: Account; readonly onClose: () => void }): JSX.Element {
  const { from, to, fate, reasons, link } = account;
  return (
    <section class="account" aria-label="What became of it">
      <p>
        {from.length === 0 ? null : <code>{visible(from.join(', '))}</code>}
        {to.length === 0 ? null : (
          <>
            {' → '}
            <code>{visible(to.join(', '))}</code>
          </>
        )}{' '}
        <strong>{visible(fate)}</strong>
        <button type="button" class="small" onClick={onClose}>
          Close
        </button>
      </p>
      {reasons.map((reason) => (
        <p key={reason}>{visible(reason)}</p>
      ))}
      {link === null ? null : link.startsWith('http') ? (
        <a href={link} target="_blank" rel="noreferrer">
          {link}
        </a>
      ) : (
        <p class="quiet">{link}</p>
      )}
    </section>
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
  readonly model: Model;
  readonly request: ExchangeFileRequest;
  readonly body: ReadBody | null;
  /** What became of its values; undefined while that is not known. */
  readonly explained: ReadonlyMap<string, Explained> | undefined;
  readonly selected: number | null;
  readonly onSelect: (line: JsonLine, index: number) => void;
  /** Paths that belong to the selected value. */
  readonly linked: readonly string[];
  readonly follows: boolean;
}): JSX.Element {
  const [box, columns] = useColumns();
  const { explained, linked, follows } = props;
  const { find } = props.model.list;
  const text = props.body?.text ?? '';
  const lines = useMemo(() => {
    if (props.body === null || text === '') return [];
    return props.body.json === null
      ? textLines(text, columns, find)
      : jsonLines(props.body.json, { explained, find, columns });
  }, [text, columns, explained, find]);
  const isLinked = ({ path }: JsonLine) => path !== null && linked.some((each) => isWithin(path, each));
  const firstLinked = follows ? lines.findIndex(isLinked) : -1;
  const [go, setGo] = useState<{ readonly index: number } | null>(null);
  useEffect(() => {
    if (firstLinked >= 0) setGo({ index: firstLinked });
  }, [firstLinked, linked]);
  const { method, path } = props.request;
  return (
    <div class="pane" ref={box}>
      <p class="pane-title">
        {props.title}{' '}
        <code>
          {visible(method)} {visible(path)}
        </code>
        <span class="size">{size(new Blob([text]).size)}</span>
        <FindCount found={foundIn(lines)} what={`the body: ${props.title}`} onGo={(index) => setGo({ index })} />
        {text === '' ? null : <CopyButton text={text} what={`the body: ${props.title}`} />}
      </p>
      <Lines
        id={`body-${props.title.replace(/\W/g, '')}`}
        label={`${props.title}, body`}
        lines={lines}
        selected={props.selected}
        onSelect={(index) => {
          const line = lines[index];
          if (line !== undefined) props.onSelect(line, index);
        }}
        isLinked={isLinked}
        inView={go}
      />
    </div>
  );
}
