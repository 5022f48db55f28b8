import type { ComponentChildren, JSX } from 'preact';
import type { ExchangeFile } from '../../../filter/wire/schema/exchange-file.ts';
import { errorMessage } from '../view/final-response.ts';
import { visible } from '../view/json-lines.ts';
import { type WebSocketTurn, webSocketTurnOf } from '../view/websocket-turn.ts';
import { Actions } from './actions.tsx';
import { count, duration, size, timeOfDay, toneOf } from './format.ts';
import { usualLayout } from './layout.ts';
import { baseOf, type Model } from './model.ts';
import { RequestSection } from './request-section.tsx';
import { ResponseSection } from './response-section.tsx';
import type { ShownExchange } from './shown-exchange.ts';
import { Splitter } from './splitter.tsx';
import { StreamSection } from './stream-section.tsx';

/** Both sides of one exchange. */
export function Detail({ model }: { readonly model: Model }): JSX.Element {
  const { shown, problem } = model;
  if (model.selectedId === null && problem === null)
    return (
      <section class="detail nothing" aria-label="The selected exchange">
        <p>Select an exchange to see what it became.</p>
        <p class="keys">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>/</kbd> filter <kbd>p</kbd> pause <kbd>c</kbd> conversations <kbd>n</kbd>{' '}
          send
        </p>
      </section>
    );
  return (
    <section class={model.alone === null ? 'detail' : 'detail has-alone'} aria-label="The selected exchange">
      <button type="button" class="back" onClick={() => model.select(null)}>
        ← All exchanges
      </button>
      {problem === null ? null : <p class="banner bad">{problem}</p>}
      {shown === null && problem === null ? (
        <p class="banner">{model.connection === 'lost' ? 'The connection to the service is lost.' : 'Loading …'}</p>
      ) : null}
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
      <RequestSection shown={shown} model={model} />
      <Between model={model} first="request" second="stream" label="Height of the request" />
      <StreamSection shown={shown} model={model} />
      <Between model={model} first="stream" second="response" label="Height of the answer" />
      <ResponseSection model={model} file={file} isOver={row.outcome !== 'running'} version={shown.version} />
    </>
  );
}

/** The line between two sections. */
function Between(props: {
  readonly model: Model;
  readonly first: 'request' | 'stream';
  readonly second: 'stream' | 'response';
  readonly label: string;
}): JSX.Element {
  const { model, first, second, label } = props;
  const both = model.layout[first] + model.layout[second];
  return (
    <Splitter
      label={label}
      direction="horizontal"
      class="sections"
      share={model.layout[first] / both}
      onShare={(share) => {
        const of = share ?? usualLayout[first] / (usualLayout[first] + usualLayout[second]);
        model.setLayout({ [first]: of * both, [second]: (1 - of) * both });
      }}
    />
  );
}

function Title({ shown, model }: { readonly shown: ShownExchange; readonly model: Model }): JSX.Element {
  const { row, file } = shown.detail;
  const turn = webSocketTurnOf(row.request_id);
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
    ...(row.repairs.length === 0 ? [] : [['Repaired', row.repairs.join(', ').replaceAll('_', ' ')] as const]),
    ['Client', row.client ?? '–'],
    [
      'Conversation',
      <button key="conversation" type="button" class="small" onClick={() => model.openConversationOf(row.id)}>
        Show its turns
      </button>,
    ],
    ...(row.request_id === null ? [] : [['Request id', row.request_id] as const]),
    ...(turn === null ? [] : [['WebSocket', <Turn key="turn" turn={turn} model={model} />] as const]),
  ];
  return (
    <header class="title">
      <h2 id="detail-title" tabIndex={-1}>
        {visible(row.model ?? row.path ?? '')}
        <span class={`pill ${toneOf(row.outcome)}`}>{row.outcome}</span>
      </h2>
      <Actions shown={shown} base={baseOf(model)} model={model} />
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

/** Which turn of its connection it was, with links to the others. */
function Turn({ turn, model }: { readonly turn: WebSocketTurn; readonly model: Model }): JSX.Element {
  return (
    <>
      turn {turn.number}{' '}
      <button type="button" onClick={() => model.list.setFilter(`${turn.connection}-turn-`)}>
        Show all turns
      </button>
    </>
  );
}

function statusOf({ chat_response, client_response }: ExchangeFile): string {
  const upstream = chat_response?.status ?? null;
  const client = client_response?.status ?? null;
  if (upstream === null || upstream === client) return String(client ?? '–');
  return `${upstream} → ${client ?? '–'}`;
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
  if (outcome === 'aborted')
    return (
      'The call ended before the answer was complete: the client left, or the upstream reset its connection. ' +
      'Envoy reports both alike; the flags in its access log say which.'
    );
  return outcome === 'protocol_error' ? 'The proxy sent what this service does not expect.' : '';
}
