import type { ComponentChildren, JSX } from 'preact';
import type { ExchangeFile } from '../../files/exchange-file.ts';
import type { ExchangeRow } from '../exchange-json.ts';
import { buildHar } from '../view/exports.ts';
import { readWebSocketTurn } from '../view/group-round-trips.ts';
import { escapeInvisible, indentJsonText } from '../view/json-lines.ts';
import { AnswerSection } from './answer-section.tsx';
import { downloadJson } from './browser.ts';
import { chooseTone, formatCount, formatDuration, formatSize, formatTimeOfDay } from './format.ts';
import { findBaseUrl, type Model, type ShownExchange } from './model.ts';
import { RequestSection } from './request-section.tsx';
import { Button, Figures, Problem, SmallButton } from './section.tsx';

export function Detail({ model }: { readonly model: Model }): JSX.Element {
  const { detail, problem } = model;
  if (model.selectedId === null && problem === null)
    return (
      <section class="detail nothing empty" aria-label="The selected exchange">
        <p>Select an exchange to see what it became.</p>
        <p class="keys">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>/</kbd> filter <kbd>p</kbd> pause <kbd>c</kbd> conversations <kbd>n</kbd>{' '}
          send
        </p>
      </section>
    );
  return (
    <section
      id="detail"
      tabIndex={-1}
      class={model.alone === null ? 'detail' : 'detail has-alone'}
      aria-label="The selected exchange"
    >
      <Button says="← All exchanges" class="back" onClick={() => model.select(null)} />
      <Problem says={problem} />
      {detail === null && problem === null ? (
        <p class="banner">{model.connection === 'lost' ? 'The connection to the service is lost.' : 'Loading …'}</p>
      ) : null}
      {detail === null ? null : <Shown key={detail.row.id} detail={detail} model={model} />}
    </section>
  );
}

function Shown({ detail, model }: ShownExchange): JSX.Element {
  const lost = Object.entries(detail.omitted).filter(([, bytes]) => bytes > 0);
  return (
    <>
      <Title detail={detail} model={model} />
      {lost.length === 0 ? null : (
        <p class="banner warn">
          Too long to be kept whole. Left out:{' '}
          {lost.map(([part, bytes]) => `${formatSize(bytes)} of the ${part.replace('_', ' ')}`).join(', ')}.
        </p>
      )}
      <RequestSection detail={detail} model={model} />
      <AnswerSection detail={detail} model={model} />
    </>
  );
}

function Title({ detail, model }: ShownExchange): JSX.Element {
  const { row, file } = detail;
  const turn = readWebSocketTurn(row.request_id);
  const figures: readonly (readonly [string, ComponentChildren])[] = [
    ['Started', formatTimeOfDay(row.started_at)],
    ['Duration', formatDuration(row.duration_ms)],
    ['First event', formatDuration(row.first_event_ms)],
    ['Tokens', formatTokens(row)],
    ['Speed', row.tokens_per_second === null ? '–' : `${row.tokens_per_second} tok/s`],
    ['Status', formatStatus(file)],
    ['Profile', row.profile],
    ['Finish', row.finish_reason],
    ['Repaired', row.repairs.join(', ').replaceAll('_', ' ')],
    ['Client', row.client ?? '–'],
    ['Request id', row.request_id],
    [
      'Conversation',
      <SmallButton key="round-trips" says="Show its round trips" onClick={() => model.openConversationOf(row.id)} />,
    ],
    [
      'WebSocket',
      turn && (
        <>
          turn {turn.number}{' '}
          <SmallButton says="Show all turns" onClick={() => model.setFilter(`${turn.connection}-turn-`)} />
        </>
      ),
    ],
  ];
  return (
    <header class="title">
      <h2 id="detail-title">
        {escapeInvisible(row.model ?? row.path ?? '')}
        <span class={`pill ${chooseTone(row.outcome)}`}>{row.outcome}</span>
      </h2>
      <Actions detail={detail} model={model} />
      <Figures of={figures} />
    </header>
  );
}

/** Actions on an exchange: it is sent again, or saved as the file that `explain` and `npm run golden` read, or as HAR. */
function Actions({ detail, model }: ShownExchange): JSX.Element {
  const { file, row, omitted } = detail;
  const { client_request: client } = file;
  const name = `exchange-${(row.model ?? 'exchange').replace(/[^\w.-]+/g, '-').slice(0, 40)}-${row.id}`;
  const save = (as: string, value: object) => downloadJson(`${name}.${as}`, JSON.stringify(value, null, 1));
  const body = 'body' in client && row.endpoint !== null && omitted.client_request === 0 ? client.body : null;
  const resend = () =>
    model.set({ draft: { title: 'Edit and resend', path: client.path, body: indentJsonText(body ?? '') } });
  return (
    <div class="actions">
      <Button says="Edit and resend" disabled={body === null} onClick={resend} />
      <Button says="Download JSON" onClick={() => save('json', file)} />
      <Button
        says="HAR"
        onClick={() => save('har', buildHar([detail], findBaseUrl(model), model.about?.version ?? ''))}
      />
    </div>
  );
}

function formatTokens({ tokens }: ExchangeRow): string {
  if (tokens === null) return '–';
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = tokens;
  const parts = Object.entries({ cached: cached_tokens, reasoning: reasoning_tokens }).flatMap(([name, count]) =>
    count > 0 ? [`${formatCount(count)} ${name}`] : [],
  );
  const more = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return `${formatCount(input_tokens)} → ${formatCount(output_tokens)}${more}`;
}

function formatStatus({ chat_response, client_response }: ExchangeFile): string {
  const [upstream, client] = [chat_response?.status, client_response?.status ?? '–'];
  return upstream === undefined || upstream === client ? String(client) : `${upstream} → ${client}`;
}
