import type { WebSocketSession } from './websocket-session.ts';

/** How one connection comes to keep what is measured. */
export interface HeldKind {
  fill(session: WebSocketSession): void;
}

const create = (fields: string) => Buffer.from(`{"type":"response.create","model":"m","input":"Hi"${fields}}`);
/** A view of one read of a socket, as the library for WebSockets cuts messages out of it. */
function readOf(message: Buffer): Buffer {
  const read = Buffer.alloc(Math.max(64 * 1024, message.length));
  message.copy(read);
  return read.subarray(0, message.length);
}
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

/** A turn that streams, with these events of its answer. */
function answerWith({ connection, answer }: WebSocketSession, events: readonly string[]): void {
  connection.message(readOf(create('')));
  answer(1).headers({ status: 200, contentType: 'text/event-stream', retryAfter: null });
  for (const event of events) answer(1).body(Buffer.from(`data: ${event}\n\n`));
}

/** Messages behind a turn that has not ended. */
function waitWith({ connection }: WebSocketSession, messages: readonly Buffer[]): void {
  connection.message(readOf(create('')));
  for (const message of messages) connection.message(readOf(message));
}

const begun = '{"type":"response.created","response":{"id":"resp_1","output":[]}}';

/** What a connection of a WebSocket keeps, by kind. A turn counts 40 KiB for its connection to the proxy, which these have not. */
export const heldMessages = new Map<string, HeldKind>([
  [
    'messages of 990 fields that wait',
    {
      fill: (session) =>
        waitWith(
          session,
          times(32).map(() =>
            create(
              times(990)
                .map((at) => `,"f${at}":${at}`)
                .join(''),
            ),
          ),
        ),
    },
  ],
  [
    'turns of 990 fields that the proxy does not read',
    {
      fill: ({ connection }) => {
        for (const lane of times(8))
          connection.message(
            readOf(
              create(
                `,"stream_id":"${lane}"${times(990)
                  .map((at) => `,"f${at}":"${'x'.repeat(60)}"`)
                  .join('')}`,
              ),
            ),
          );
      },
    },
  ],
  [
    'small messages that wait',
    {
      fill: (session) =>
        waitWith(
          session,
          times(32).map(() => create('')),
        ),
    },
  ],
  [
    'refused messages that wait',
    {
      fill: (session) =>
        waitWith(
          session,
          times(120).map((at) => Buffer.from(`{"type":"${at}"}`)),
        ),
    },
  ],
  [
    'small items of an answer',
    {
      fill: (session) =>
        answerWith(session, [
          begun,
          ...times(500).map((at) => `{"type":"response.output_item.added","output_index":${at},"item":{"id":"i"}}`),
        ]),
    },
  ],
  ['the beginning of an answer', { fill: (session) => answerWith(session, [begun]) }],
  [
    'an error in pieces of a byte',
    {
      fill: ({ connection, answer }) => {
        connection.message(readOf(create('')));
        answer(1).headers({ status: 400, contentType: 'application/json', retryAfter: null });
        for (const _ of times(1000)) answer(1).body(readOf(Buffer.from('x')));
      },
    },
  ],
]);
