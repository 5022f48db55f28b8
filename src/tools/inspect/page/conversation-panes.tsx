import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ExchangeDetail } from '../exchange-json.ts';
import type { Conversation, ConversationTurn } from '../view/group-turns.ts';
import { harOf } from '../view/har.ts';
import { visible } from '../view/json-lines.ts';
import { parsed } from '../view/timeline.ts';
import { type TurnChanges, turnChanges } from '../view/turn-changes.ts';
import { download } from './download.ts';
import { clientName, count, duration, money, reasonOf, timeOfDay, toneOf } from './format.ts';
import { baseOf, type Model } from './model.ts';
import { VirtualList } from './virtual-list.tsx';

/** The list of conversations, newest first. */
export function ConversationList({ model }: { readonly model: Model }): JSX.Element {
  const conversations = model.conversations();
  const selected = conversations.findIndex(({ id }) => id === model.conversationId);
  const isEmpty = conversations.length === 0;
  return (
    <section class="exchanges" aria-label="Conversations">
      {isEmpty ? (
        <p class="empty">
          {model.turns.areKnown
            ? 'No conversation has a second turn yet. A turn continues another when its messages begin with the other’s.'
            : 'Looking for conversations …'}
        </p>
      ) : null}
      <VirtualList
        id="conversations"
        label="Conversations, newest first"
        class={isEmpty ? 'exchange-list without-rows' : 'exchange-list'}
        count={conversations.length}
        rowHeight={46}
        keyOf={(index) => conversations[index]?.id ?? index}
        selected={selected}
        onSelect={(index) => model.selectConversation(conversations[index]?.id ?? null)}
        onOpen={() => document.getElementById('detail-title')?.focus()}
        rowAt={(index) => {
          const conversation = conversations[index];
          return conversation === undefined ? null : <Row conversation={conversation} />;
        }}
      />
    </section>
  );
}

function Row({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const { turns, input, output, cost, start } = conversation;
  const last = turns.at(-1)?.row;
  const facts = [
    turns.some(({ turn }) => turn.differs_at !== null) ? 'prefix broken' : null,
    `${count(input)} → ${count(output)} tok`,
    cost === null ? null : `cost ${money(cost)}`,
    clientName(last?.client ?? null),
  ];
  return (
    <div class="exchange">
      <span class={`dot ${toneOf(last?.outcome ?? '')}`} />
      <span class="name">{last?.model ?? '–'}</span>
      <span class="outcome">{turns.length} turns</span>
      <time>{timeOfDay(start)}</time>
      <span class="facts">{facts.filter((fact) => fact !== null).join(' · ')}</span>
    </div>
  );
}

/** One conversation: its turns on one time axis, how its context grew, and what changed from turn to turn. */
export function ConversationDetail({ model }: { readonly model: Model }): JSX.Element {
  const conversation = model.conversations().find(({ id }) => id === model.conversationId);
  if (conversation === undefined)
    return (
      <section class="detail nothing" aria-label="The selected conversation">
        <p>Select a conversation to see its turns.</p>
      </section>
    );
  return <Shown key={conversation.id} conversation={conversation} model={model} />;
}

function Shown({ conversation, model }: { readonly conversation: Conversation; readonly model: Model }): JSX.Element {
  const { turns, input, cached, output, cost, start, end } = conversation;
  const [chosen, setChosen] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const selected = turns.find(({ row }) => row.id === chosen);
  const largest = Math.max(1, ...turns.map(({ row }) => (row.input_tokens ?? 0) + (row.output_tokens ?? 0)));
  const figures = [
    ['Turns', count(turns.length)],
    ['Started', timeOfDay(start)],
    ['Until', timeOfDay(end)],
    ['Input tokens', `${count(input)} (${count(cached)} cached)`],
    ['Output tokens', count(output)],
    ['Cost', cost === null ? 'no price (INSPECT_PRICES)' : money(cost)],
  ];
  const save = async () => {
    try {
      const exchanges = await Promise.all(turns.map(({ row }) => exchangeOf(row.id)));
      const har = harOf(exchanges, baseOf(model), model.about?.version ?? '');
      download(`conversation-${conversation.id}.har`, 'application/json', JSON.stringify(har, null, 1));
      setProblem(null);
    } catch (error) {
      setProblem(reasonOf(error));
    }
  };
  return (
    <section class="detail conversation" aria-label="The selected conversation">
      <button type="button" class="back" onClick={() => model.selectConversation(null)}>
        ← All conversations
      </button>
      <header class="title">
        <h2 id="detail-title" tabIndex={-1}>
          Conversation with {visible(turns.at(-1)?.row.model ?? '–')}
        </h2>
        <div class="actions">
          <button type="button" onClick={save}>
            Download HAR
          </button>
        </div>
        <dl class="figures">
          {figures.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </header>
      {problem === null ? null : (
        <p class="banner bad" role="alert">
          {problem}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <div class="turns" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Turn</th>
              <th scope="col">
                In {duration(end - start)}: <Mark of="waiting" /> <Mark of="answering" says="answer" />
              </th>
              <th scope="col">
                Context: <Mark of="cached" /> <Mark of="fresh" says="new" /> <Mark of="output" says="answer" />
              </th>
              <th scope="col" class="number">
                In
              </th>
              <th scope="col" class="number">
                Out
              </th>
              <th scope="col" class="number">
                Cost
              </th>
              <th scope="col">Prompt’s prefix</th>
            </tr>
          </thead>
          <tbody>
            {turns.map((turn, index) => (
              <TurnRow
                key={turn.row.id}
                turn={turn}
                number={index + 1}
                before={turns.find(({ row }) => row.id === turn.turn.parent)}
                conversation={conversation}
                largest={largest}
                isChosen={turn.row.id === chosen}
                onChoose={() => setChosen(turn.row.id === chosen ? null : turn.row.id)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {selected === undefined ? null : (
        <Changes key={selected.row.id} turn={selected} number={turns.indexOf(selected) + 1} model={model} />
      )}
    </section>
  );
}

/** A colour of the bars, and what it means. */
function Mark(props: { readonly of: string; readonly says?: string }): JSX.Element {
  return (
    <span>
      <i class={`mark ${props.of}`} /> {props.says ?? props.of}
    </span>
  );
}

function TurnRow(props: {
  readonly turn: ConversationTurn;
  readonly number: number;
  readonly before: ConversationTurn | undefined;
  readonly conversation: Conversation;
  readonly largest: number;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}): JSX.Element {
  const { turn, number, before, conversation, largest } = props;
  const { row } = turn;
  const span = Math.max(1, conversation.end - conversation.start);
  const share = (ms: number) => `${(100 * ms) / span}%`;
  const first = row.first_event_ms ?? row.duration_ms ?? 0;
  const input = row.input_tokens ?? 0;
  const cached = Math.min(row.cached_tokens ?? 0, input);
  const more = before === undefined || before.row.input_tokens === null ? null : input - before.row.input_tokens;
  const part = (tokens: number) => `${(100 * tokens) / largest}%`;
  return (
    <tr class={props.isChosen ? 'chosen' : ''}>
      <th scope="row">
        <button type="button" class="small" aria-pressed={props.isChosen} onClick={props.onChoose}>
          <span class={`dot ${toneOf(row.outcome)}`} /> {number}
        </button>
      </th>
      <td
        class="when"
        title={`${timeOfDay(row.started_at)}, first event ${duration(row.first_event_ms)}, ${duration(row.duration_ms)}`}
      >
        <span class="strip">
          <i style={{ width: share(row.started_at - conversation.start) }} />
          <i class="waiting" style={{ width: share(first) }} />
          <i class="answering" style={{ width: share((row.duration_ms ?? first) - first) }} />
        </span>
      </td>
      <td class="context">
        <span class="strip">
          <i class="cached" style={{ width: part(cached) }} />
          <i class="fresh" style={{ width: part(input - cached) }} />
          <i class="output" style={{ width: part(row.output_tokens ?? 0) }} />
        </span>
      </td>
      <td class="number">
        {count(row.input_tokens)}
        {more === null ? '' : ` (${more < 0 ? '−' : '+'}${count(Math.abs(more))})`}
      </td>
      <td class="number">{count(row.output_tokens)}</td>
      <td class="number">{turn.cost === null ? '–' : money(turn.cost)}</td>
      <td class={turn.turn.differs_at === null ? 'prefix' : 'prefix broken'}>{prefixOf(turn)}</td>
    </tr>
  );
}

function prefixOf({ turn }: ConversationTurn): string {
  if (turn.parent === null) return `${turn.messages} messages`;
  if (turn.differs_at !== null) return `differs at ${turn.differs_at}`;
  return `kept: ${turn.kept_messages} of ${turn.messages} messages`;
}

/** What is new in a turn, and where its prompt begins to differ from the one before. */
function Changes(props: {
  readonly turn: ConversationTurn;
  readonly number: number;
  readonly model: Model;
}): JSX.Element {
  const { turn, number, model } = props;
  const [changes, setChanges] = useState<TurnChanges | string | null>(null);
  const { id } = turn.row;
  const { parent } = turn.turn;
  useEffect(() => {
    const left = new AbortController();
    Promise.all([parent === null ? null : chatOf(parent, left.signal), chatOf(id, left.signal)]).then(
      ([before, after]) => setChanges(turnChanges(before, after)),
      (error: unknown) => {
        if (!left.signal.aborted) setChanges(reasonOf(error));
      },
    );
    return () => left.abort();
  }, [id, parent]);
  return (
    <section class="changes" aria-label={`Turn ${number}`}>
      <h3>
        Turn {number}
        <button type="button" class="small" onClick={() => model.openExchange(id)}>
          Open the exchange
        </button>
      </h3>
      {changes === null ? <p class="quiet">Comparing …</p> : null}
      {typeof changes === 'string' ? <p class="bad">{visible(changes)}</p> : null}
      {changes === null || typeof changes === 'string' ? null : (
        <Compared changes={changes} isFirst={parent === null} />
      )}
    </section>
  );
}

function Compared({ changes, isFirst }: { readonly changes: TurnChanges; readonly isFirst: boolean }): JSX.Element {
  const { difference, added, fields } = changes;
  return (
    <>
      {isFirst ? null : difference === null ? (
        <p class="good">
          This prompt begins with the whole previous prompt, byte for byte: a server that caches prefixes need not read
          it again.
        </p>
      ) : (
        <div class="warn">
          <p>
            This prompt does not begin with the previous one: they part at <code>{visible(difference.path)}</code>
            {difference.character === null ? '' : `, character ${count(difference.character)}`}. A server that caches
            prefixes reads everything after it again.
          </p>
          <pre>{`− ${visible(difference.before)}\n+ ${visible(difference.after)}`}</pre>
        </div>
      )}
      <ul>
        {added.map(({ path, role, says, characters }) => (
          <li key={path}>
            <code>+ {path}</code> <strong>{visible(role)}</strong>, {count(characters)} characters of JSON:{' '}
            {visible(says)}
          </li>
        ))}
        {isFirst
          ? null
          : fields.map(({ name, before, after }) => (
              <li key={name}>
                <code>{visible(name)}</code>: {before === '' ? 'nothing' : visible(before)} →{' '}
                {after === '' ? 'nothing' : visible(after)}
              </li>
            ))}
      </ul>
    </>
  );
}

async function exchangeOf(id: number, signal?: AbortSignal): Promise<ExchangeDetail> {
  const response = await fetch(`/inspect/exchanges/${id}`, signal === undefined ? {} : { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as ExchangeDetail;
}

async function chatOf(id: number, signal: AbortSignal): Promise<unknown> {
  const { chat_request: chat } = (await exchangeOf(id, signal)).file;
  return chat !== null && 'body' in chat ? parsed(chat.body) : null;
}
