import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExchangeFileRequest } from '../../files/exchange-file.ts';
import { curlOf } from '../view/curl.ts';
import { type Account, accountOf } from '../view/explained.ts';
import { upstreamOf } from '../view/har.ts';
import type { ExchangeDetail } from '../view/join-parts.ts';
import { type JsonLine, visible } from '../view/json-lines.ts';
import { size } from './format.ts';
import { baseOf, type Model } from './model.ts';
import { Section } from './section.tsx';
import { Split } from './split.tsx';
import { CopyButton, TextPane } from './text-pane.tsx';
import { type Explanation, useExplanation } from './use-explanation.ts';

/** The client’s request next to the Chat request: bodies with the explanation of each field, or headers. */
export function RequestSection(props: { readonly detail: ExchangeDetail; readonly model: Model }): JSX.Element {
  const { detail, model } = props;
  const { client_request: client, chat_request: chat, dropped } = detail.file;
  const [showsHeaders, setShowsHeaders] = useState(false);
  const explanation = useExplanation(detail, model);
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
      {showsHeaders ? (
        <Headers client={client} chat={chat} />
      ) : (
        <Bodies client={client} chat={chat} model={model} explanation={explanation} />
      )}
    </Section>
  );
}

function Headers(props: {
  readonly client: ExchangeFileRequest;
  readonly chat: ExchangeFileRequest | null;
}): JSX.Element {
  const [ours, theirs] = [props.client, props.chat].map(
    (request) => new Map(request?.headers.map(({ name, value }) => [name, value])),
  );
  const names = [...new Set([...(ours?.keys() ?? []), ...(theirs?.keys() ?? [])])];
  const all = names.map((name) => ({ name, client: ours?.get(name) ?? null, chat: theirs?.get(name) ?? null }));
  // Those that differ first.
  const rows = all.sort((a, b) => Number(a.client === a.chat) - Number(b.client === b.chat));
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
  readonly model: Model;
  readonly explanation: Explanation;
}): JSX.Element {
  const { client, chat, model, explanation } = props;
  const explained =
    typeof explanation === 'object' && explanation !== null && 'client' in explanation ? explanation : null;
  const [selected, setSelected] = useState<{
    readonly side: 'client' | 'chat';
    readonly line: JsonLine;
    readonly index: number;
  } | null>(null);
  const path = selected?.line.path ?? null;
  const places = selected === null ? undefined : explained?.[selected.side];
  const account = path === null || places === undefined ? null : accountOf(places, path);
  const body = (side: 'client' | 'chat', title: string, request: ExchangeFileRequest, base: string) => {
    const text = 'body' in request ? request.body : `(not text) ${request.base64}`;
    const isSelected = selected?.side === side;
    return (
      <TextPane
        id={`body-${side}`}
        title={
          <>
            {title}{' '}
            <code>
              {visible(request.method)} {visible(request.path)}
            </code>
            <span>{size(new Blob([text]).size)}</span>
          </>
        }
        label={`${title}, body`}
        what={`the body: ${title}`}
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
  const base = baseOf(model);
  return (
    <>
      <Split name="sides" label="Width of both sides" as="columns" usual={0.5}>
        {body('client', 'Client sent', client, base)}
        {chat === null ? (
          <div class="pane">
            <p class="pane-title">Chat request</p>
            <p class="empty">The upstream was not called.</p>
          </div>
        ) : (
          body('chat', 'It became', chat, upstreamOf(chat, base))
        )}
      </Split>
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
