import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../../service/settings/error-texts.ts';
import { buildHar } from '../view/exports.ts';
import {
  type ConversationRow,
  countBeforeLastUser,
  findResults,
  type RoundTrip,
  readRoundTripWords,
} from '../view/group-round-trips.ts';
import type { ExchangeDetail } from '../view/join-parts.ts';
import { escapeInvisible } from '../view/json-lines.ts';
import { compareRoundTrips } from '../view/round-trip-changes.ts';
import { parseShown } from '../view/timeline.ts';
import { AnswerParts, ErrorBanner, readReceivedParts } from './answer-section.tsx';
import { downloadJson } from './browser.ts';
import { chooseTone, formatCount, formatDuration, formatTimeOfDay, shortenUserAgent, writeRowTitle } from './format.ts';
import { findBaseUrl, type Model } from './model.ts';
import { RowList, type RowTexts } from './row-list.tsx';
import { Button, Figures, Problem, SmallButton } from './section.tsx';

export function ConversationList({ model }: { readonly model: Model }): JSX.Element {
  return (
    <RowList
      title="Conversations"
      items={model.conversations()}
      textsOf={buildConversationTexts}
      selectedId={model.conversationId}
      onSelect={(id) => model.selectConversation(id)}
      empty="No conversation has a second round trip yet. A round trip continues another when its messages begin with the other’s."
    />
  );
}

function buildConversationTexts({ roundTrips, input, output, start }: ConversationRow): RowTexts {
  const last = roundTrips.at(-1)?.row;
  return {
    title: roundTrips[0] === undefined ? '–' : writeRowTitle(roundTrips[0].row),
    about: [last?.model ?? '–'],
    outcome: `${roundTrips.length} round trips`,
    tone: last?.outcome ?? '',
    startedAt: start,
    facts: [
      roundTrips.some(({ link }) => link.differs_at !== null) ? 'prefix broken' : null,
      `${formatCount(input)} → ${formatCount(output)} tok`,
      shortenUserAgent(last?.client ?? null),
    ],
  };
}

/**
 * Shows a conversation as a transcript: what was said and called in each round trip, how its context grew, and what
 * changed.
 */
export function ConversationDetail({ model }: { readonly model: Model }): JSX.Element {
  const conversation = model.conversations().find(({ id }) => id === model.conversationId);
  if (conversation === undefined)
    return (
      <section class="detail nothing empty" aria-label="The selected conversation">
        <p>Select a conversation to see its round trips.</p>
      </section>
    );
  return <Shown key={conversation.id} conversation={conversation} model={model} />;
}

function Shown(props: { readonly conversation: ConversationRow; readonly model: Model }): JSX.Element {
  const { conversation, model } = props;
  const { roundTrips, input, cached, output, start, end } = conversation;
  const [problem, setProblem] = useState<string | null>(null);
  /** The loaded round trips by id and version. Each is shown with those before and after it. */
  const loaded = useRef(new Map<string, Promise<ExchangeDetail>>()).current;
  const load = ({ row: { id, version } }: RoundTrip) => {
    const known = loaded.get(`${id} ${version}`) ?? model.load(id, new AbortController().signal);
    loaded.set(`${id} ${version}`, known);
    return known;
  };
  const save = async () => {
    try {
      const har = buildHar(await Promise.all(roundTrips.map(load)), findBaseUrl(model), model.about?.version ?? '');
      downloadJson(`conversation-${conversation.id}.har`, JSON.stringify(har, null, 1));
      setProblem(null);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <section id="detail" tabIndex={-1} class="detail conversation" aria-label="The selected conversation">
      <Button says="← All conversations" class="back" onClick={() => model.selectConversation(null)} />
      <header class="title">
        <h2>Conversation with {escapeInvisible(roundTrips.at(-1)?.row.model ?? '–')}</h2>
        <div class="actions">
          <Button says="Download HAR" onClick={save} />
        </div>
        <Figures
          of={[
            ['Round trips', formatCount(roundTrips.length)],
            ['Started', formatTimeOfDay(start)],
            ['Until', formatTimeOfDay(end)],
            ['Input tokens', `${formatCount(input)} (${formatCount(cached)} cached)`],
            ['Output tokens', formatCount(output)],
          ]}
        />
      </header>
      <Problem says={problem} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section class="parts" tabIndex={0} aria-label="Transcript">
        {roundTrips.map((each) => (
          <RoundTripArticle key={each.row.id} roundTrip={each} roundTrips={roundTrips} load={load} model={model} />
        ))}
      </section>
    </section>
  );
}

type Details = readonly [
  detail: ExchangeDetail,
  earlier: ExchangeDetail | undefined,
  later: ExchangeDetail | undefined,
];

/** Reads the contents of a round trip from its exchange and from those before and after it. */
function readContents({ link }: RoundTrip, before: RoundTrip | undefined, [detail, earlier, later]: Details) {
  const chat = readChat(detail);
  const { said } = readRoundTripWords(chat, before?.link.messages ?? countBeforeLastUser(chat));
  const parts = readReceivedParts(detail);
  const calls = parts.filter(({ kind }) => kind === 'call');
  const results = findResults(calls, readRoundTripWords(readChat(later), link.messages).results);
  return { detail, said, parts, results, changes: earlier && compareRoundTrips(readChat(earlier), chat) };
}

function RoundTripArticle(props: {
  readonly roundTrip: RoundTrip;
  readonly roundTrips: readonly RoundTrip[];
  readonly load: (roundTrip: RoundTrip) => Promise<ExchangeDetail>;
  readonly model: Model;
}): JSX.Element {
  const { roundTrip, roundTrips, load, model } = props;
  const { row } = roundTrip;
  const box = useRef<HTMLElement>(null);
  const [isNear, setNear] = useState(false);
  const [contents, setContents] = useState<ReturnType<typeof readContents> | string | null>(null);
  const before = roundTrips.find(({ row: { id } }) => id === roundTrip.link.parent);
  const next = roundTrips.find(({ link: { parent } }) => parent === row.id);
  useEffect(() => {
    // A long conversation has more in its bodies than anybody reads at once.
    const observer = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && setNear(true));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!isNear) return;
    Promise.all([load(roundTrip), before && load(before), next && load(next)]).then(
      (details) => setContents(readContents(roundTrip, before, details)),
      (error) => setContents(messageOf(error)),
    );
  }, [isNear, row.version, next?.row.version]);
  const number = roundTrips.indexOf(roundTrip) + 1;
  return (
    <article ref={box} class="round-trip" aria-label={`Round trip ${number}`}>
      <h3>
        <span class={`dot ${chooseTone(row.outcome)}`} /> Round trip {number}
        <span class="legend">{describeRoundTrip(roundTrip, before)}</span>
        <SmallButton says="Open the exchange" onClick={() => model.openExchange(row.id)} />
      </h3>
      {contents === null ? <p class="quiet">Loading …</p> : null}
      {typeof contents === 'string' ? <p class="bad">{escapeInvisible(contents)}</p> : null}
      {contents === null || typeof contents === 'string' ? null : (
        <>
          {contents.changes && <Changes {...contents.changes} />}
          {contents.said.map((text, index) => (
            <p key={index} class="said user">
              {escapeInvisible(text)}
            </p>
          ))}
          <AnswerParts parts={contents.parts} find={model.find} results={contents.results} />
          <ErrorBanner detail={contents.detail} />
        </>
      )}
    </article>
  );
}

function readChat(detail: ExchangeDetail | undefined): unknown {
  const chat = detail?.file.chat_request;
  return chat && 'body' in chat ? parseShown(chat.body) : null;
}

function describeRoundTrip({ row, link }: RoundTrip, before: RoundTrip | undefined): string {
  const { tokens, error_code } = row;
  const more = (tokens?.input_tokens ?? 0) - (before?.row.tokens?.input_tokens ?? 0);
  const grown = before?.row.tokens ? ` (${more < 0 ? '−' : '+'}${formatCount(Math.abs(more))})` : '';
  const cached = tokens !== null && tokens.cached_tokens > 0 ? `, ${formatCount(tokens.cached_tokens)} cached` : '';
  const facts = [
    error_code,
    formatTimeOfDay(row.started_at),
    formatDuration(row.duration_ms),
    tokens && `${formatCount(tokens.input_tokens)}${grown}${cached} → ${formatCount(tokens.output_tokens)} tok`,
    link.parent === null ? `${link.messages} messages` : `${link.kept_messages} of ${link.messages} messages kept`,
  ];
  return facts.filter((fact) => fact !== null).join(' · ');
}

/** Shows how a round trip's Chat request differs from the one before: a server's cache of prefixes ends there. */
function Changes({ difference, changed }: ReturnType<typeof compareRoundTrips>): JSX.Element | null {
  if (difference === null && changed.length === 0) return null;
  return (
    <div class="banner warn">
      Changed since the round trip before: {changed.map((name) => escapeInvisible(name)).join(', ')}
      {difference === null ? null : (
        <>
          {changed.length === 0 ? '' : '; '}the prompts part at <code>{escapeInvisible(difference.path)}</code>
          {difference.character === null ? '' : `, character ${formatCount(difference.character)}`}, and a cache of
          prefixes ends there.
          <pre>{`− ${escapeInvisible(difference.before)}\n+ ${escapeInvisible(difference.after)}`}</pre>
        </>
      )}
    </div>
  );
}
