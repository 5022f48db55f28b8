import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TranslatedRequest } from '../../src/filter/translate/request-to-chat/request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../src/filter/wire/schema/chat-request.ts';
import type { ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { habits, requestFields, type Server, servers, tokenSizes, turns } from '../support/arbitrary-dialogues.ts';
import { ask } from '../support/ask.ts';
import { questionOf, repliesTo } from '../support/dialogue.ts';
import { fuzzTimeout, tries } from '../support/fuzz-options.ts';
import { runStream } from '../support/run-stream.ts';
import { chunksOf, Marks, possibleHabits, speak, sseOf, withLeadingTags } from '../support/scripted-answers.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';
import type { Item } from '../support/tool-kinds.ts';
import { startWebSocketSession, type WebSocketSession } from '../support/websocket-session.ts';

const MiB = 1024 * 1024;
const limits = { maxKept: 64 * MiB, maxHeld: 64 * MiB, maxEventBytes: MiB, maxErrorBytes: MiB, maxValues: 1e6 };

const dialogues = fc.array(
  fc.record({ fields: requestFields, turn: turns, compacts: fc.integer({ min: 0, max: 4 }).map((one) => one === 1) }),
  { minLength: 1, maxLength: 4 },
);

/**
 * The fourth of five readings (docs/architecture.md): a conversation over a WebSocket, where each turn names the last, and the same over
 * HTTP, where the client sends all of it: the server gets the same requests, and the client the same events. Different on purpose, with
 * cases in websocket.md:
 *
 * - over a WebSocket the Response names the one that it continues;
 * - a turn has one end: `response.failed` without the `error` event before it.
 */
it('a conversation is the same over a WebSocket and over HTTP', { timeout: fuzzTimeout }, () => {
  let continued = 0;
  fc.assert(
    fc.property(
      servers,
      habits,
      tokenSizes,
      dialogues,
      fc.integer({ min: 1, max: 200 }),
      (server, given, sizes, dialogue, size) => {
        const marks = new Marks();
        const session = startWebSocketSession(limits);
        let history: readonly Item[] = [];
        let replies: readonly Item[] = [];
        let previous: string | null = null;
        for (const [index, { fields, turn, compacts }] of dialogue.entries()) {
          const isAsked = replies.length === 0 || turn.goesOn;
          const wanted = compacts && index > 0 ? [{ type: 'compaction_trigger' }] : [];
          const asks = [...replies, ...(isAsked && wanted.length === 0 ? [questionOf(turn, marks)] : []), ...wanted];
          const body = sentBy(
            session,
            { ...fields, input: asks, ...(previous !== null && { previous_response_id: previous }) },
            server,
          );
          const [asked, overSocket] = [{ stream: true, ...fields, input: [...history, ...asks] }, body].map((one) =>
            ask(one, server, index),
          );
          expect(sentFor(overSocket)).toEqual(sentFor(asked));
          if (asked === undefined || asked instanceof ApiError || overSocket instanceof ApiError) return;
          const { context, chat } = asked;
          const own = possibleHabits(given, context.profile);
          const answer = speak(withLeadingTags(turn.answer, own), own, marks, chat, context.profile);
          const upstream = sseOf(chunksOf(answer, own, sizes, turn.form === 'json' ? 'pieces' : turn.form));
          const stream = (one: TranslatedRequest) => runStream([upstream], one.context, { committed: true }).bytes;
          const events = eventsOf(stream(asked).toString());
          const seen = seenBy(session, index + 1, stream(overSocket as TranslatedRequest), size);
          expect(seen.map((event) => withPrevious(event, null))).toEqual(withoutError(events));
          const { response } = seen.at(-1) as unknown as { response: ResponseResource };
          expect(response.previous_response_id).toBe(previous);
          if (response.status === 'failed') return;
          if (previous !== null) continued += 1;
          const output = response.output as readonly unknown[] as readonly Item[];
          // What is before a summary is what it sums up.
          history = wanted.length > 0 ? output : [...history, ...asks, ...output];
          replies = repliesTo(response.output, turn, marks);
          previous = response.id;
        }
      },
    ),
    tries(120),
  );
  expect(continued).toBeGreaterThan(40);
});

/** The body of the `POST` that the proxy gets for the client's message. */
function sentBy(session: WebSocketSession, fields: object, { model }: Server): { readonly input: unknown } {
  session.connection.message(Buffer.from(JSON.stringify({ type: 'response.create', model, ...fields })));
  const [line = ''] = session.take();
  return JSON.parse(line.replace(/^turn \d+: /, ''));
}

/** The events that the client gets for a stream that arrives in pieces. */
function seenBy(session: WebSocketSession, turn: number, stream: Buffer, size: number): ReturnType<typeof eventsOf> {
  const answer = session.answer(turn);
  answer.headers({ status: 200, contentType: 'text/event-stream', retryAfter: null });
  for (const piece of inPiecesOf(size, stream)) answer.body(Buffer.from(piece));
  answer.end();
  return session
    .take()
    .flatMap((line) => (line.startsWith('server: ') ? [JSON.parse(line.slice('server: '.length))] : []));
}

/** What goes to the server, or the error. */
function sentFor(asked: TranslatedRequest | ApiError | undefined): unknown {
  if (asked === undefined || asked instanceof ApiError) return asked?.toObject();
  return JSON.parse(JSON.stringify(chatRequestBody(asked.chat, asked.passthrough)));
}

function withoutError(events: ReturnType<typeof eventsOf>): unknown[] {
  return events.filter(({ type }) => type !== 'error').map((event, index) => ({ ...event, sequence_number: index }));
}

function withPrevious(event: ReturnType<typeof eventsOf>[number], id: string | null): unknown {
  return event['response'] === undefined
    ? event
    : { ...event, response: { ...(event['response'] as object), previous_response_id: id } };
}
