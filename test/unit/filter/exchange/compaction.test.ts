import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../support/exchange-options.ts';
import { publishedSchemas } from '../../../support/published-schema.ts';

const ajv = new Ajv2020({ strict: false, discriminator: true });
ajv.addSchema({ $id: 'open-responses', components: { schemas: publishedSchemas } });
const isCompactResource = ajv.compile({ $ref: 'open-responses#/components/schemas/CompactResource' });

const summary = { choices: [{ message: { content: 'Heron.' }, finish_reason: 'stop' }] };
const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const json = { ':status': '200', 'content-type': 'application/json' };
const events = { ':status': '200', 'content-type': 'text/event-stream' };

interface Sent {
  readonly path?: string;
  readonly body: object;
}
interface Answered {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

function run(sent: Sent, answered: Answered, mode: BodyMode = 'FULL_DUPLEX_STREAMED') {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response: mode } }));
  const upstream = [
    ...exchange.handle({
      type: 'request_headers',
      headers: headersOf({ ':method': 'POST', ':path': sent.path ?? '/v1/responses/compact' }),
      endOfStream: false,
    }),
    ...exchange.handle({ type: 'request_body', body: Buffer.from(JSON.stringify(sent.body)), endOfStream: true }),
  ];
  const client = [
    ...exchange.handle({ type: 'response_headers', headers: headersOf(answered.headers ?? json), endOfStream: false }),
    ...exchange.handle({ type: 'response_body', body: Buffer.from(answered.body), endOfStream: true }),
  ];
  return { path: pathOf(upstream), request: JSON.parse(bodyOf(upstream)), text: bodyOf(client), client, exchange };
}

function bodyOf(replies: readonly ExchangeReply[]): string {
  return Buffer.concat(replies.flatMap((reply) => ('body' in reply && reply.body ? [reply.body] : []))).toString();
}

function pathOf(replies: readonly ExchangeReply[]): string | undefined {
  return replies
    .flatMap((reply) => ('headers' in reply && 'set' in (reply.headers ?? {}) ? [reply.headers] : []))
    .map((headers) => (headers as { set: Record<string, string> }).set[':path'])
    .find((path) => path !== undefined);
}

const body = { model: 'test-model', input: 'The code word is heron.' };

describe.each(['FULL_DUPLEX_STREAMED', 'BUFFERED', 'STREAMED'] as const)('POST /v1/responses/compact in %s', (mode) => {
  test('gives the published resource for a JSON answer', () => {
    const { path, request, text } = run({ body }, { body: JSON.stringify({ ...summary, usage }) }, mode);
    expect(path).toBe('/v1/chat/completions');
    expect(request.messages).toHaveLength(2);
    const resource = JSON.parse(text);
    expect(isCompactResource(resource), JSON.stringify(isCompactResource.errors)).toBe(true);
    expect(resource).toMatchObject({
      object: 'response.compaction',
      output: [{ type: 'compaction', id: 'cmp_1' }],
      usage: { input_tokens: 9, output_tokens: 2, total_tokens: 11 },
    });
    expect(Object.keys(resource)).toEqual(['id', 'object', 'created_at', 'output', 'usage']);
  });

  test('gives it for an event stream too, and zeros for usage that never came', () => {
    const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    const stream = `${chunk({ delta: { content: 'Her' } })}${chunk({ delta: { content: 'on.' } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
    const { text } = run({ body }, { headers: events, body: stream }, mode);
    const resource = JSON.parse(text);
    expect(isCompactResource(resource), JSON.stringify(isCompactResource.errors)).toBe(true);
    expect(resource.usage.total_tokens).toBe(0);
  });
});

test('a summary that failed is an HTTP error', () => {
  const empty = { choices: [{ message: { content: '' }, finish_reason: 'stop' }] };
  const { text, client, exchange } = run({ body }, { body: JSON.stringify(empty) });
  expect(client[0]).toMatchObject({ headers: { set: { ':status': '502' } } });
  expect(JSON.parse(text)).toMatchObject({ error: { code: 'empty_summary' } });
  expect(exchange.summary()).toMatchObject({ outcome: 'upstream_error', errorCode: 'empty_summary' });
});

test('the upstream’s own refusal of a conversation that is too long reaches the client', () => {
  const error = {
    error: { message: 'This model’s maximum context length is 10 tokens', code: 'context_length_exceeded' },
  };
  const { client } = run({ body }, { headers: { ...json, ':status': '400' }, body: JSON.stringify(error) });
  expect(client[0]).toMatchObject({ headers: { set: { ':status': '400' } } });
});

test('the item goes into the next input, on any replica, and the model reads the summary there', () => {
  const trigger = [{ role: 'user', content: 'The code word is heron.' }, { type: 'compaction_trigger' }];
  const path = '/v1/responses';
  const first = run({ path, body: { model: 'test-model', input: trigger } }, { body: JSON.stringify(summary) });
  const { status, output } = JSON.parse(first.text);
  expect(status).toBe('completed');
  expect(output).toHaveLength(1);
  const input = [...output, { role: 'user', content: 'Which word?' }];
  const next = run({ path, body: { model: 'test-model', input } }, { body: JSON.stringify(summary) });
  expect(next.request.messages).toEqual([
    { role: 'user', content: 'Summary of the conversation so far:\n\nHeron.' },
    { role: 'user', content: 'Which word?' },
  ]);
});
