import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import {
  type AnswerPart,
  findErrorMessage,
  findLastResponse,
  isEventStream,
  readAnswerParts,
} from '../view/answer-parts.ts';
import { type ExchangeDetail, joinContent, writeContent } from '../view/join-parts.ts';
import { cutLongText, escapeInvisible, writeIndentedJson } from '../view/json-lines.ts';
import type { AnswerTab, ShownExchange } from './model.ts';
import { Section, SmallButton } from './section.tsx';
import { StreamPane } from './stream-pane.tsx';
import { TextPane } from './text-pane.tsx';

export function AnswerSection({ detail, model }: ShownExchange): JSX.Element {
  const { client_response, chat_response } = detail.file;
  const isStreamed = isEventStream(client_response) || isEventStream(chat_response);
  const tabs: readonly AnswerTab[] = ['Text', ...(isStreamed ? (['Events'] as const) : []), 'JSON'];
  const tab = tabs.includes(model.tab) ? model.tab : 'Text';
  const extra = (
    <span class="tabs">
      {tabs.map((each) => (
        <SmallButton key={each} says={each} aria-pressed={each === tab} onClick={() => model.set({ tab: each })} />
      ))}
    </span>
  );
  return (
    <Section title="Answer" class="answer" model={model} extra={extra}>
      {tab === 'Events' ? <StreamPane detail={detail} model={model} /> : null}
      {tab === 'JSON' ? <FinalResponse detail={detail} model={model} /> : null}
      {tab === 'Text' ? <AnswerText detail={detail} find={model.find} /> : null}
    </Section>
  );
}

function AnswerText({ detail, find }: { readonly detail: ExchangeDetail; readonly find: string }): JSX.Element {
  const { row, file } = detail;
  const isRunning = row.outcome === 'running';
  const parts = useMemo(() => readReceivedParts(detail), [detail]);
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (isRunning && atEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [detail]);
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: { currentTarget: HTMLElement }) => {
    atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section ref={box} class="parts" tabIndex={0} aria-label="The answer’s text" onScroll={onScroll}>
      <AnswerParts parts={parts} find={find} />
      <ErrorBanner detail={detail} />
      {isRunning ? <p class="quiet">The answer is still running.</p> : null}
      {!isRunning && file.client_response === null ? <p class="quiet">The client was sent nothing.</p> : null}
    </section>
  );
}

export function readReceivedParts({ file: { client_response: response } }: ExchangeDetail): readonly AnswerPart[] {
  const content = joinContent(response?.pieces ?? []);
  return 'text' in content ? readAnswerParts(content.text, isEventStream(response)) : [];
}

/** Shows the parts of an answer, reasoning folded. `results` has the results of calls, where they are known. */
export function AnswerParts(props: {
  readonly parts: readonly AnswerPart[];
  readonly find: string;
  readonly results?: ReadonlyMap<AnswerPart, string | undefined>;
}): JSX.Element {
  const { parts, find, results } = props;
  const shown = (part: AnswerPart) => {
    const { kind, name, text } = part;
    const whole = <Found text={text} find={find} />;
    const result = results?.get(part);
    if (kind === 'text') return <p class="said">{whole}</p>;
    if (kind === 'refusal')
      return (
        <p class="said banner warn">
          <strong>Refused</strong> {whole}
        </p>
      );
    const isShut = kind === 'reasoning' || results !== undefined;
    const Name = kind === 'call' ? 'code' : 'span';
    return (
      <details class={kind} open={!isShut || (find !== '' && text.toLowerCase().includes(find.toLowerCase()))}>
        <summary>
          <Name class="name">{escapeInvisible(name)}</Name>
          {isShut ? (
            <code class="quiet">
              {escapeInvisible(text.slice(0, 200) + (result === undefined ? '' : ` → ${result.slice(0, 100)}`))}
            </code>
          ) : null}
        </summary>
        <pre>{whole}</pre>
        {result === undefined ? null : (
          <pre class="result" aria-label={`Result of ${name}`}>
            <Found text={result} find={find} />
          </pre>
        )}
      </details>
    );
  };
  return (
    <>
      {parts.map((part, index) => (
        <div key={index}>{shown(part)}</div>
      ))}
    </>
  );
}

/** Shows a text, and marks each place in it that matches the search. */
function Found({ text, find }: { readonly text: string; readonly find: string }): JSX.Element {
  const whole = cutLongText(text);
  const [lower, wanted] = [whole.toLowerCase(), find.toLowerCase()];
  const parts: ComponentChildren[] = [];
  let done = 0;
  // A letter whose lower case has another length would shift the matches.
  if (wanted !== '' && lower.length === whole.length)
    for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, done)) {
      const marked = <mark>{escapeInvisible(whole.slice(at, at + wanted.length))}</mark>;
      parts.push(escapeInvisible(whole.slice(done, at)), marked);
      done = at + wanted.length;
    }
  return <>{[...parts, escapeInvisible(whole.slice(done))]}</>;
}

/** Explains why an answer is missing or ends early; shows nothing for a whole answer. */
export function ErrorBanner({ detail: { file, row } }: { readonly detail: ExchangeDetail }): JSX.Element | null {
  const { error, outcome, client_response } = file;
  if (error === null && !['aborted', 'incomplete', 'protocol_error', 'crashed'].includes(outcome)) return null;
  const message = findErrorMessage(client_response);
  const cause = typeof error?.['cause'] === 'string' ? error['cause'] : null;
  const code = typeof error?.['code'] === 'string' ? error['code'] : outcome;
  return (
    <div class={['aborted', 'incomplete'].includes(outcome) ? 'banner warn' : 'banner bad'} role="alert">
      <strong>{escapeInvisible(code)}</strong> {escapeInvisible(message ?? explainOutcome(outcome, row.finish_reason))}
      {cause === null ? null : (
        <details>
          <summary>Cause</summary>
          <pre>{escapeInvisible(cause)}</pre>
        </details>
      )}
    </div>
  );
}

function explainOutcome(outcome: string, finish: string | null): string {
  if (outcome === 'incomplete') return `The model stopped before its end${finish === null ? '.' : `: ${finish}.`}`;
  if (outcome === 'aborted')
    return (
      'The call ended before the answer was complete: the client left, or the upstream reset its connection. ' +
      'Envoy reports both alike; the flags in its access log say which.'
    );
  return outcome === 'protocol_error' ? 'The proxy sent what this service does not expect.' : '';
}

/** The Response that the client has in the end: for a stream, the Response of the last event. */
function FinalResponse({ detail, model }: ShownExchange): JSX.Element {
  const { client_response } = detail.file;
  const isOver = detail.row.outcome !== 'running';
  const text = useMemo(() => {
    if (!isOver || client_response === null) return '';
    const content = joinContent(client_response.pieces);
    const response = isEventStream(client_response) && 'text' in content ? findLastResponse(content.text) : null;
    return response === null ? writeContent(content) : writeIndentedJson(response);
  }, [isOver, detail]);
  if (text === '')
    return <p class="empty">{isOver ? 'The client was sent nothing.' : 'The answer is still running.'}</p>;
  const names = { id: 'final', title: 'Client received', label: 'Final Response', what: 'the final Response' };
  return <TextPane {...names} text={text} find={model.find} />;
}
