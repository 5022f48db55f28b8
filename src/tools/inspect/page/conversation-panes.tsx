import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../../service/settings/error-texts.ts';
import type { ConversationRow, ConversationTurn } from '../view/group-turns.ts';
import { harOf } from '../view/har.ts';
import { pretty } from '../view/indent-json.ts';
import { visible } from '../view/json-lines.ts';
import { titleOf } from '../view/row-title.ts';
import { parsed } from '../view/timeline.ts';
import { type TurnChanges, turnChanges } from '../view/turn-changes.ts';
import { download } from './download.ts';
import { clientName, count, duration, timeOfDay, toneOf } from './format.ts';
import { baseOf, type Model } from './model.ts';
import { RowList, type RowTexts } from './row-list.tsx';
import { Figures, Problem, SmallButton } from './section.tsx';
import { TextPane } from './text-pane.tsx';

/** The list of conversations, newest first. */
export function ConversationList({ model }: { readonly model: Model }): JSX.Element {
  return (
    <RowList
      title="Conversations"
      items={model.conversations()}
      textsOf={textsOf}
      selectedId={model.conversationId}
      onSelect={(id) => model.selectConversation(id)}
      empty={
        <p>No conversation has a second turn yet. A turn continues another when its messages begin with the other’s.</p>
      }
    />
  );
}

function textsOf({ turns, input, output, start }: ConversationRow): RowTexts {
  const last = turns.at(-1)?.row;
  return {
    title: turns[0] === undefined ? '–' : titleOf(turns[0].row),
    about: [last?.model ?? '–'],
    outcome: `${turns.length} turns`,
    tone: last?.outcome ?? '',
    startedAt: start,
    facts: [
      turns.some(({ turn }) => turn.differs_at !== null) ? 'prefix broken' : null,
      `${count(input)} → ${count(output)} tok`,
      clientName(last?.client ?? null),
    ],
  };
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

function Shown({
  conversation,
  model,
}: {
  readonly conversation: ConversationRow;
  readonly model: Model;
}): JSX.Element {
  const { turns, input, cached, output, start, end } = conversation;
  const [chosen, setChosen] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const selected = turns.find(({ row }) => row.id === chosen);
  const save = async () => {
    try {
      const { signal } = new AbortController();
      const exchanges = await Promise.all(turns.map(({ row }) => model.load(row.id, signal)));
      const har = harOf(exchanges, baseOf(model), model.about?.version ?? '');
      download(`conversation-${conversation.id}.har`, JSON.stringify(har, null, 1));
      setProblem(null);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <section id="detail" tabIndex={-1} class="detail conversation" aria-label="The selected conversation">
      <button type="button" class="back" onClick={() => model.selectConversation(null)}>
        ← All conversations
      </button>
      <header class="title">
        <h2>Conversation with {visible(turns.at(-1)?.row.model ?? '–')}</h2>
        <div class="actions">
          <button type="button" onClick={save}>
            Download HAR
          </button>
        </div>
        <Figures
          of={[
            ['Turns', count(turns.length)],
            ['Started', timeOfDay(start)],
            ['Until', timeOfDay(end)],
            ['Input tokens', `${count(input)} (${count(cached)} cached)`],
            ['Output tokens', count(output)],
          ]}
        />
      </header>
      <Problem says={problem} />
      <Turns conversation={conversation} chosen={chosen} onChoose={(id) => setChosen(id === chosen ? null : id)} />
      {selected === undefined ? null : (
        <Changes key={selected.row.id} turn={selected} number={turns.indexOf(selected) + 1} model={model} />
      )}
    </section>
  );
}

function Turns(props: {
  readonly conversation: ConversationRow;
  readonly chosen: number | null;
  readonly onChoose: (id: number) => void;
}): JSX.Element {
  const { turns, start, end } = props.conversation;
  const contextOf = ({ row }: ConversationTurn) => (row.tokens?.input_tokens ?? 0) + (row.tokens?.output_tokens ?? 0);
  const largest = Math.max(1, ...turns.map(contextOf));
  const headings: readonly ComponentChildren[] = [
    'Turn',
    'The user, the model, and the calls',
    <Legend key="when" title={`In ${duration(end - start)}:`} of={{ warn: 'waiting', accent: 'answer' }} />,
    <Legend key="context" title="Context:" of={{ good: 'cached', busy: 'new', literal: 'answer' }} />,
    'In',
    'Out',
    'Prompt’s prefix',
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <div class="turns" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {headings.map((heading, index) => (
              <th key={index} scope="col" class={index > 3 && index < 6 ? 'number' : ''}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {turns.map((turn, index) => {
            const { row } = turn;
            const { input_tokens: input = 0, output_tokens: output = 0, cached_tokens = 0 } = row.tokens ?? {};
            const cached = Math.min(cached_tokens, input);
            const first = row.first_event_ms ?? row.duration_ms ?? 0;
            const before = turns.find(({ row: each }) => each.id === turn.turn.parent)?.row.tokens ?? null;
            const more = before === null ? null : input - before.input_tokens;
            const when = [row.started_at - start, first, (row.duration_ms ?? first) - first];
            return (
              <tr key={row.id} class={row.id === props.chosen ? 'chosen' : ''}>
                <th scope="row">
                  <button
                    type="button"
                    class="small"
                    aria-pressed={row.id === props.chosen}
                    onClick={() => props.onChoose(row.id)}
                  >
                    <span class={`dot ${toneOf(row.outcome)}`} /> {index + 1}
                  </button>
                </th>
                <td class="said">
                  {visible(row.said ?? '–')}
                  {row.answered === null ? null : <span class="answered">{visible(row.answered)}</span>}
                  {row.called.length === 0 ? null : <span class="calls">→ {visible(row.called.join(', '))}</span>}
                </td>
                <td
                  class="when"
                  title={`${timeOfDay(row.started_at)}, first event ${duration(row.first_event_ms)}, ${duration(row.duration_ms)}`}
                >
                  <Strip
                    of={['before', 'waiting warn', 'answering accent']}
                    parts={when}
                    whole={Math.max(1, end - start)}
                  />
                </td>
                <td class="context">
                  <Strip of={['good', 'busy', 'literal']} parts={[cached, input - cached, output]} whole={largest} />
                </td>
                <td class="number">
                  {count(row.tokens?.input_tokens ?? null)}
                  {more === null ? '' : ` (${more < 0 ? '−' : '+'}${count(Math.abs(more))})`}
                </td>
                <td class="number">{count(row.tokens?.output_tokens ?? null)}</td>
                <td class={turn.turn.differs_at === null ? '' : 'warn'}>{prefixOf(turn)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Legend(props: { readonly title: string; readonly of: Readonly<Record<string, string>> }): JSX.Element {
  return (
    <>
      {props.title}
      {Object.entries(props.of).map(([colour, says]) => (
        <span key={colour}>
          {' '}
          <i class={`mark ${colour}`} /> {says}
        </span>
      ))}
    </>
  );
}

function Strip(props: {
  readonly of: readonly string[];
  readonly parts: readonly number[];
  readonly whole: number;
}): JSX.Element {
  return (
    <span class="strip">
      {props.of.map((colour, index) => (
        <i key={colour} class={colour} style={{ width: `${(100 * (props.parts[index] ?? 0)) / props.whole}%` }} />
      ))}
    </span>
  );
}

function prefixOf({ turn }: ConversationTurn): string {
  if (turn.parent === null) return `${turn.messages} messages`;
  if (turn.differs_at !== null) return `differs at ${turn.differs_at}`;
  return `kept: ${turn.kept_messages} of ${turn.messages} messages`;
}

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
    const chatOf = async (wanted: number) => {
      const { chat_request: chat } = (await model.load(wanted, left.signal)).file;
      return chat !== null && 'body' in chat ? parsed(chat.body) : null;
    };
    Promise.all([parent === null ? null : chatOf(parent), chatOf(id)]).then(
      ([before, after]) => setChanges(turnChanges(before, after)),
      (error) => left.signal.aborted || setChanges(messageOf(error)),
    );
    return () => left.abort();
  }, [id, parent]);
  return (
    <section class="changes" aria-label={`Turn ${number}`}>
      <h3>
        Turn {number}
        <SmallButton says="Open the exchange" onClick={() => model.openExchange(id)} />
      </h3>
      {changes === null ? <p class="quiet">Comparing …</p> : null}
      {typeof changes === 'string' ? <p class="bad">{visible(changes)}</p> : null}
      {changes === null || typeof changes === 'string' ? null : (
        <>
          {parent === null ? null : <Prefix difference={changes.difference} />}
          <TextPane
            id="added"
            title="New in this turn"
            label="New in this turn"
            what="what is new"
            text={pretty(changes.added)}
            find={model.find}
          />
        </>
      )}
    </section>
  );
}

function Prefix({ difference }: Pick<TurnChanges, 'difference'>): JSX.Element {
  if (difference === null)
    return (
      <p class="good">
        This prompt begins with the whole previous prompt, byte for byte: a server that caches prefixes need not read it
        again.
      </p>
    );
  const { path, character, before, after } = difference;
  return (
    <div class="warn">
      <p>
        This prompt does not begin with the previous one: they part at <code>{visible(path)}</code>
        {character === null ? '' : `, character ${count(character)}`}. A server that caches prefixes reads everything
        after it again.
      </p>
      <pre>{`− ${visible(before)}\n+ ${visible(after)}`}</pre>
    </div>
  );
}
