import { expect, it } from 'vitest';
import { createExchangeFactory } from '../../../../src/service/server/exchanges.ts';
import { createExchangeStore } from '../../../../src/tools/inspect/exchange-store.ts';
import { createRecorder } from '../../../../src/tools/inspect/record-exchanges.ts';
import { buildTimeline, labelChunk, labelEvent } from '../../../../src/tools/inspect/view/timeline.ts';
import { explainSetupOf } from '../../../support/config-of-settings.ts';
import { repliesOf } from '../../../support/exchange-options.ts';
import { detailOf } from '../../../support/recorded-exchange.ts';

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, ...more }] })}\n\n`;
const call = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });
const chunks = [
  chunk({ role: 'assistant', reasoning_content: 'Hm' }),
  ': still here\n\n',
  chunk({ content: 'Hel' }),
  chunk({ content: 'lo' }),
  chunk({ content: '' }),
  chunk(call(0, { id: 'c1', type: 'function', function: { name: 'f', arguments: '{' } })),
  chunk(call(0, { function: { arguments: '}' } })),
  chunk({}, { finish_reason: 'tool_calls' }),
  'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n',
  'data: [DONE]\n\n',
];

/** What the inspector shows of an answer that came in these pieces: each chunk with its events. */
function shown(pieces: readonly string[]): { readonly lines: string[]; readonly client: string } {
  const { config, profile } = explainSetupOf({});
  const store = createExchangeStore();
  const { createExchange } = createRecorder(store);
  let id = 0;
  const clock = { now: () => 1, newId: (prefix: string) => `${prefix}_${++id}` };
  const profiles = { profileOf: () => profile, names: () => [profile.name] };
  const { exchange } = createExchangeFactory(config, profiles, () => {}, { createExchange, clock }).open(
    {},
    { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' },
    null,
  );
  const body = Buffer.from(
    JSON.stringify({ model: 'm', input: 'Hi', stream: true, tools: [{ type: 'function', name: 'f' }] }),
  );
  const requestHeaders = new Map([
    [':method', 'POST'],
    [':path', '/v1/responses'],
    ['content-type', 'application/json'],
  ]);
  const responseHeaders = new Map([
    [':status', '200'],
    ['content-type', 'text/event-stream'],
  ]);
  repliesOf(exchange, { type: 'request_headers', headers: requestHeaders, endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  repliesOf(exchange, { type: 'response_headers', headers: responseHeaders, endOfStream: false });
  for (const piece of pieces)
    repliesOf(exchange, { type: 'response_body', body: Buffer.from(piece), endOfStream: false });
  repliesOf(exchange, { type: 'response_body', body: Buffer.alloc(0), endOfStream: true });
  const stored = store.get(1);
  if (stored === undefined) throw new Error('nothing was recorded');
  const { chat_response, client_response } = detailOf(stored).file;
  const rows = buildTimeline(
    { pieces: chat_response?.pieces ?? [], isStream: true },
    { pieces: client_response?.pieces ?? [], isStream: true },
  );
  return {
    // Where there is something else to send, nothing is sent for a comment.
    lines: rows.map(
      ({ upstream, client, isFirst }) =>
        `${isFirst ? '>' : ' '} ${upstream === null ? '' : labelChunk(upstream)} | ${client === null || client.kind === 'comment' ? '' : labelEvent(client)}`,
    ),
    client: (client_response?.pieces ?? [])
      .map((piece) => ('text' in piece ? piece.text : ''))
      .join('')
      .replace(': keepalive\n\n', ''),
  };
}

const apart = shown(chunks);

it('each chunk of a burst stands beside the events that it became', () => {
  expect(apart.lines).toContain('> content "lo" | output_text.delta #1.0 "lo"');
  expect(shown([chunks.join('')]).lines).toEqual(apart.lines);
});

it('a burst that begins and ends inside a chunk is cut at the chunks', () => {
  const text = chunks.join('');
  for (const at of [20, text.indexOf('Hel'), text.indexOf('lo"') + 1, text.length - 30]) {
    const { lines, client } = shown([text.slice(0, at), text.slice(at)]);
    expect(lines.filter((line) => !line.startsWith('  ')).length).toBe(
      apart.lines.filter((line) => !line.startsWith('  ')).length,
    );
    expect(lines).toEqual(apart.lines);
    expect(client).toBe(apart.client);
  }
});
