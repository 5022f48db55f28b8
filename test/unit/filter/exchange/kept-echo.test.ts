import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import { keepLarge, repeatsMuch } from '../../../../src/filter/exchange/kept-echo.ts';
import type { CreateResponseEcho } from '../../../../src/filter/wire/schema/response-resource.ts';
import { JsonBytes } from '../../../../src/formats/json/parts.ts';
import { createTestContext } from '../../../support/context.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const { echo } = createTestContext();
const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;
/** Texts are counted once, objects three times. */
const counted = (given: CreateResponseEcho) =>
  Object.values(given).reduce((bytes: number, value: unknown) => {
    const { length } = JSON.stringify(value);
    return bytes + (typeof value === 'string' ? length : 3 * length);
  }, 0);
/** A string of that length as JSON. */
const textOf = (length: number) => 'x'.repeat(length - 2);

describe('what a response repeats of its request', () => {
  it('is kept as it is where it is small, and is counted as three times its JSON', () => {
    expect(keepLarge(echo)).toEqual({ echo, bytes: counted(echo) });
    expect(repeatsMuch(echo)).toBe(false);
  });

  it.each(fields)('is kept as bytes from 32 KiB of one field on: %s', (field) => {
    const large = { ...echo, [field]: textOf(32 * 1024) } as CreateResponseEcho;
    const kept = keepLarge(large);
    expect(kept.echo[field]).toBeInstanceOf(JsonBytes);
    expect(kept.bytes).toBe(counted(large));
    expect(JSON.parse(JSON.stringify(kept.echo))).toEqual(JSON.parse(JSON.stringify(large)));
    expect(repeatsMuch(kept.echo)).toBe(true);
    const smaller = { ...echo, [field]: textOf(32 * 1024 - 1) } as CreateResponseEcho;
    expect(keepLarge(smaller)).toEqual({ echo: smaller, bytes: counted(smaller) });
  });
});

describe('large tools', () => {
  const description = 'x'.repeat(33_000);

  it('never leave a line separator in an event', () => {
    const tools = [{ type: 'function', name: '\u2028', description }] as unknown as CreateResponseEcho['tools'];
    const { bytes } = keepLarge({ ...echo, tools }).echo.tools as unknown as JsonBytes;
    expect(bytes.toString()).toBe(`[{"type":"function","name":"\\u2028","description":"${description}"}]`);
  });

  it('are repeated as the upstream got them: of a name that stands twice, the last', () => {
    const exchange = new Exchange(exchangeOptions());
    const json = `[{"type":"function","name":"f","name":"g","description":"${description}"}]`;
    const body = Buffer.from(`{"model":"m","input":"Hi","tools":[],"tools":${json}}`);
    const path = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
    repliesOf(exchange, { type: 'request_headers', headers: headersOf(path), endOfStream: false });
    const sent = repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
    const headers = headersOf({ ':status': '200', 'content-type': 'application/json' });
    repliesOf(exchange, { type: 'response_headers', headers, endOfStream: false });
    const completion = Buffer.from('{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}');
    const answered = repliesOf(exchange, { type: 'response_body', body: completion, endOfStream: true });
    const [request, answer] = [sent, answered].map((replies) =>
      replies.map((reply) => ('body' in reply ? String(reply.body) : '')).join(''),
    );
    expect(request?.match(/"name":"."/g)).toEqual(['"name":"g"']);
    expect(answer?.match(/"name":"."/g)).toEqual(['"name":"g"']);
  });
});
