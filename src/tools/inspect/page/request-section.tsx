import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { messageOf } from '../../../service/settings/error-texts.ts';
import type { ExchangeFileRequest } from '../../files/exchange-file.ts';
import {
  buildExplainedBodies,
  compareHeaders,
  type ExplainedBodies,
  findPlaceExplanation,
  type PlaceExplanation,
  type ShownExplanation,
} from '../view/explained.ts';
import { findUpstreamUrl, writeCurl } from '../view/exports.ts';
import { type ExchangeDetail, joinContent, writeContent } from '../view/join-parts.ts';
import { chooseOpening, escapeInvisible, type JsonLine, type Opening, writeIndentedJson } from '../view/json-lines.ts';
import { parseShown } from '../view/timeline.ts';
import { keepSize } from './browser.ts';
import { formatSize } from './format.ts';
import { findBaseUrl, type Model, type ShownExchange } from './model.ts';
import { Section, SmallButton } from './section.tsx';
import { CopyButton, TextPane } from './text-pane.tsx';

export function RequestSection({ detail, model }: ShownExchange): JSX.Element {
  const { dropped } = detail.file;
  const [shows, setShows] = useState<Shown>('bodies');
  const { bodies, problem, isAsked } = useExplanation(detail, model);
  const toggle = (what: Shown, says: string) => (
    <SmallButton says={says} aria-pressed={shows === what} onClick={() => setShows(shows === what ? 'bodies' : what)} />
  );
  const extra = (
    <>
      <span class="legend">
        <span class="warn">■</span> rewritten <span class="busy">■</span> only here <span class="bad">■</span> dropped
      </span>
      {isAsked ? <span class="legend">explaining …</span> : null}
      {detail.pieces.websocket_message.length === 0 ? null : toggle('message', 'As it came over WebSocket')}
      {toggle('headers', shows === 'headers' ? 'Bodies' : 'Headers')}
    </>
  );
  return (
    <Section title="Request" class="request" model={model} extra={extra} size={requestSize}>
      {dropped.length === 0 ? null : (
        <p class="banner bad">
          Dropped:{' '}
          {dropped.map((name) => (
            <code key={name}>{escapeInvisible(name)} </code>
          ))}
        </p>
      )}
      {problem === null ? null : <p class="banner bad">Not explained: {escapeInvisible(problem)}</p>}
      <Sides key={shows} shows={shows} detail={detail} model={model} bodies={bodies} />
    </Section>
  );
}

const requestSize = keepSize('request');

/** The line of a body that was clicked. */
interface Selected {
  readonly side: 'client' | 'chat';
  readonly line: JsonLine;
  readonly index: number;
}

/** The bodies, or the headers, or the message on a WebSocket and the request made of it. */
type Shown = 'bodies' | 'headers' | 'message';

/** An exchange that is only passed while scrolling down the list is not explained. */
const askAfterMs = 300;

/**
 * Asks the service to explain the request's fields once its exchange has been shown for a moment, if there is something to ask:
 * the explanation of each field, or why there is none; `isAsked` while there is neither.
 */
function useExplanation({ row, omitted, file }: ExchangeDetail, model: Model) {
  const isRead = file.chat_request !== null || row.outcome !== 'running';
  const canAsk = row.endpoint !== null && omitted.client_request === 0 && isRead;
  const [answer, setAnswer] = useState<ExplainedBodies | string | null>(null);
  useEffect(() => {
    if (!canAsk) return;
    const left = new AbortController();
    const timer = setTimeout(() => {
      model.ask<ShownExplanation>(`exchanges/${row.id}/explanation`, { signal: left.signal }).then(
        (explanation) => setAnswer(buildExplainedBodies(explanation)),
        (error) => left.signal.aborted || setAnswer(messageOf(error)),
      );
    }, askAfterMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [canAsk, row.id]);
  if (typeof answer === 'string') return { bodies: null, problem: answer, isAsked: false };
  return { bodies: answer, problem: null, isAsked: canAsk && answer === null };
}

interface SidesProps extends ShownExchange {
  readonly shows: Shown;
  readonly bodies: ExplainedBodies | null;
}

function Sides({ shows, detail, model, bodies }: SidesProps): JSX.Element {
  const { client_request: client, chat_request: chat } = detail.file;
  const showsHeaders = shows === 'headers';
  const pieces = detail.pieces.websocket_message;
  const message = useMemo(() => writeContent(joinContent(pieces)), [pieces, pieces.length]);
  const explained = useMemo(
    () => (showsHeaders ? compareHeaders(indexHeaders(client), indexHeaders(chat)) : bodies),
    [showsHeaders, client, chat, bodies],
  );
  const [selected, setSelected] = useState<Selected | null>(null);
  const [isFolded, setFolded] = useState(true);
  // Folding and searching change the numbers of the lines.
  useEffect(() => setSelected(null), [isFolded, model.find === '']);
  const path = selected?.line.path ?? null;
  const places = selected === null ? undefined : explained?.[selected.side];
  const account = path === null || places === undefined ? null : findPlaceExplanation(places, path);
  const openings = {
    client: useMemo(() => readOpening(client), [client]),
    chat: useMemo(() => readOpening(chat), [chat]),
  };
  const kind = showsHeaders ? 'headers' : 'body';
  const base = findBaseUrl(model);
  const pane = (side: 'client' | 'chat', title: string, request: ExchangeFileRequest, to = base) => {
    const body = writeContent('body' in request ? { text: request.body } : request);
    const text = showsHeaders ? writeIndentedJson(indexHeaders(request)) : body;
    const isSelected = selected?.side === side;
    const { folded, last } = showsHeaders ? nothing : openings[side];
    return (
      <TextPane
        id={`${kind}-${side}`}
        title={
          <>
            {title}{' '}
            <code>
              {escapeInvisible(request.method)} {escapeInvisible(request.path)}
            </code>
            <span>{formatSize(new Blob([body]).size)}</span>
          </>
        }
        label={`${title}, ${kind}`}
        what={`the ${kind}: ${title}`}
        text={text}
        find={model.find}
        folded={isFolded ? folded : none}
        start={last}
        buttons={
          <>
            {folded.length === 0 ? null : (
              <SmallButton says={isFolded ? 'Unfold' : 'Fold'} onClick={() => setFolded(!isFolded)} />
            )}
            <CopyButton text={writeCurl(request, to)} what={`of: ${title}`} as="Copy as curl" />
          </>
        }
        explained={explained?.[side]}
        selected={isSelected ? selected.index : -1}
        onSelect={(line, index) => setSelected({ side, line, index })}
        linked={account === null || isSelected ? none : side === 'client' ? account.from : account.to}
      />
    );
  };
  return (
    <>
      <div class="sides">
        {shows === 'message' ? <TextPane {...ofMessage} text={message} find={model.find} /> : null}
        {pane('client', shows === 'message' ? 'Request made of it' : 'Client sent', client)}
        {shows === 'message' || chat === null ? null : pane('chat', 'It became', chat, findUpstreamUrl(chat, base))}
      </div>
      {chat === null ? <p class="empty">The upstream was not called.</p> : null}
      {account === null ? null : <AccountOf account={account} onClose={() => setSelected(null)} />}
    </>
  );
}

const ofMessage = {
  id: 'message',
  title: 'As it came over WebSocket',
  label: 'Message, body',
  what: 'the message on the WebSocket',
};

function indexHeaders(request: ExchangeFileRequest | null): Readonly<Record<string, string>> {
  return Object.fromEntries(request?.headers.map(({ name, value }) => [name, value]) ?? []);
}

function readOpening(request: ExchangeFileRequest | null): Opening {
  return request !== null && 'body' in request ? chooseOpening(parseShown(request.body)) : nothing;
}

const none: readonly string[] = [];
const nothing: Opening = { folded: none, last: null };

/** Shows text between backticks as code; unchanged where one of them is single. */
function renderCode(text: string): ComponentChildren {
  const parts = text.split('`');
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}

function AccountOf(props: { readonly account: PlaceExplanation; readonly onClose: () => void }): JSX.Element {
  const { from, to, fate, reasons, link } = props.account;
  return (
    <section class="account" aria-label="What became of it">
      <p>
        {from.length === 0 ? null : <code>{escapeInvisible(from.join(', '))}</code>}
        {to.length === 0 ? null : (
          <>
            {' → '}
            <code>{escapeInvisible(to.join(', '))}</code>
          </>
        )}{' '}
        <strong>{escapeInvisible(fate)}</strong>
        <SmallButton says="Close" onClick={props.onClose} />
      </p>
      {reasons.map((reason) => (
        <p key={reason}>{renderCode(escapeInvisible(reason))}</p>
      ))}
      {link === null ? null : link.startsWith('http') ? (
        <a class="accent" href={link} target="_blank" rel="noreferrer">
          {link}
        </a>
      ) : (
        <p class="quiet">{link}</p>
      )}
    </section>
  );
}
