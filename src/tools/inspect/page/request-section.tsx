import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ExchangeFileRequest } from '../../files/exchange-file.ts';
import { curlOf } from '../view/curl.ts';
import { type Account, accountOf, comparedHeaders } from '../view/explained.ts';
import { upstreamOf } from '../view/har.ts';
import { pretty } from '../view/indent-json.ts';
import { contentOf, type ExchangeDetail } from '../view/join-parts.ts';
import { type JsonLine, visible } from '../view/json-lines.ts';
import { size } from './format.ts';
import { baseOf, type Model } from './model.ts';
import { Section, SmallButton } from './section.tsx';
import { Split } from './split.tsx';
import { CopyButton, TextPane } from './text-pane.tsx';
import { type Explanation, useExplanation } from './use-explanation.ts';

/** The client’s request next to the Chat request: bodies with the explanation of each field, or headers. */
export function RequestSection(props: { readonly detail: ExchangeDetail; readonly model: Model }): JSX.Element {
  const { detail, model } = props;
  const { client_request: client, chat_request: chat, dropped } = detail.file;
  const [shows, setShows] = useState<'bodies' | 'headers' | 'message'>('bodies');
  const showsHeaders = shows === 'headers';
  const pieces = detail.pieces.websocket_message;
  const message = useMemo(() => contentOf(pieces), [pieces, pieces.length]);
  const explanation = useExplanation(detail, model);
  const extra = (
    <>
      <span class="legend">
        <i class="mark changed" /> rewritten <i class="mark only" /> only here <i class="mark dropped" /> dropped
      </span>
      {explanation === 'asked' ? <span class="legend">explaining …</span> : null}
      {pieces.length === 0 ? null : (
        <button
          type="button"
          class="small"
          aria-pressed={shows === 'message'}
          onClick={() => setShows(shows === 'message' ? 'bodies' : 'message')}
        >
          As it came over WebSocket
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-pressed={showsHeaders}
        onClick={() => setShows(showsHeaders ? 'bodies' : 'headers')}
      >
        {showsHeaders ? 'Bodies' : 'Headers'}
      </button>
    </>
  );
  return (
    <Section title="Request" class="request" model={model} extra={extra}>
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
      <Sides
        key={shows}
        message={shows === 'message' ? message : null}
        client={client}
        chat={chat}
        model={model}
        explanation={explanation}
        showsHeaders={showsHeaders}
      />
    </Section>
  );
}

/** The bodies, or the headers, or the message on a WebSocket and the request made of it. */
function Sides(props: {
  /** Shown beside the client's request, in the place of the Chat request; null if that is shown. */
  readonly message: Content | null;
  readonly client: ExchangeFileRequest;
  readonly chat: ExchangeFileRequest | null;
  readonly model: Model;
  readonly explanation: Explanation;
  readonly showsHeaders: boolean;
}): JSX.Element {
  const { message, client, chat, model, explanation, showsHeaders } = props;
  const explained = useMemo(() => {
    if (showsHeaders) return comparedHeaders(headersOf(client), headersOf(chat));
    return typeof explanation === 'object' && explanation !== null && 'client' in explanation ? explanation : null;
  }, [showsHeaders, client, chat, explanation]);
  const [selected, setSelected] = useState<{
    readonly side: 'client' | 'chat';
    readonly line: JsonLine;
    readonly index: number;
  } | null>(null);
  const path = selected?.line.path ?? null;
  const places = selected === null ? undefined : explained?.[selected.side];
  const account = path === null || places === undefined ? null : accountOf(places, path);
  const kind = showsHeaders ? 'headers' : 'body';
  const pane = (side: 'client' | 'chat', title: string, request: ExchangeFileRequest, base: string) => {
    const body = textOf('body' in request ? { text: request.body } : request);
    const text = showsHeaders ? pretty(headersOf(request)) : body;
    const isSelected = selected?.side === side;
    return (
      <TextPane
        id={`${kind}-${side}`}
        title={
          <>
            {title}{' '}
            <code>
              {visible(request.method)} {visible(request.path)}
            </code>
            <span>{size(new Blob([body]).size)}</span>
          </>
        }
        label={`${title}, ${kind}`}
        what={`the ${kind}: ${title}`}
        text={text}
        find={model.find}
        buttons={<CopyButton text={curlOf(request, base)} what={`of: ${title}`} as="Copy as curl" />}
        explained={explained?.[side]}
        selected={isSelected ? selected.index : -1}
        onSelect={(line, index) => setSelected({ side, line, index })}
        linked={account === null || isSelected ? none : side === 'client' ? account.from : account.to}
      />
    );
  };
  const messagePane = (content: Content) => (
    <TextPane
      id="message"
      title="As it came over WebSocket"
      label="Message, body"
      what="the message on the WebSocket"
      text={textOf(content)}
      find={model.find}
    />
  );
  const base = baseOf(model);
  return (
    <>
      <Split name="sides" label="Width of both sides" as="columns" usual={0.5}>
        {message === null ? pane('client', 'Client sent', client, base) : messagePane(message)}
        {message !== null ? (
          pane('client', 'Request made of it', client, base)
        ) : chat === null ? (
          <div class="pane">
            <p class="pane-title">Chat request</p>
            <p class="empty">The upstream was not called.</p>
          </div>
        ) : (
          pane('chat', 'It became', chat, upstreamOf(chat, base))
        )}
      </Split>
      {account === null ? null : <AccountOf account={account} onClose={() => setSelected(null)} />}
    </>
  );
}

type Content = ReturnType<typeof contentOf>;

function textOf(content: Content): string {
  return 'text' in content ? content.text : `(not text) ${content.base64}`;
}

function headersOf(request: ExchangeFileRequest | null): Readonly<Record<string, string>> {
  return Object.fromEntries(request?.headers.map(({ name, value }) => [name, value]) ?? []);
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
        <SmallButton says="Close" onClick={onClose} />
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
