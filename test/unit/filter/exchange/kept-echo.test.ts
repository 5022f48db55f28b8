import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import { keepLarge, repeatsMuch } from '../../../../src/filter/exchange/kept-echo.ts';
import type { CreateResponseEcho } from '../../../../src/filter/wire/schema/response-resource.ts';
import { JsonBytes } from '../../../../src/formats/json/parts.ts';
import { createTestContext } from '../../../support/context.ts';
import { exchangeOptions, headersOf } from '../../../support/exchange-options.ts';

const { echo } = createTestContext();
const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;
/** Texts are counted once, objects three times. */
const counted = (given: CreateResponseEcho) =>
  fields.reduce((bytes, field) => {
    const { length } = JSON.stringify(given[field]);
    return bytes + (typeof given[field] === 'string' ? length : 3 * length);
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
  const sent = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false, description };
  const kept = (echoed: object, json: string, parsed: unknown = JSON.parse(json)) => {
    const given = { ...echo, tools: [echoed] as unknown as CreateResponseEcho['tools'] };
    const { tools } = keepLarge(given, { tools: parsed as unknown[], json }).echo;
    return (tools as unknown as JsonBytes).bytes.toString();
  };
  const same = (tools: readonly object[]) => ({ type: 'function', ...tools[0], name: 'f', strict: false });
  const written = [sent];
  const spaced = `[ ${JSON.stringify(sent).replaceAll('":', '": ')} ]`;

  it('are repeated as they were sent, in any order and with any spaces', () => {
    expect(kept(same(written), spaced, written)).toBe(spaced);
  });

  it('never leave a line separator in an event', () => {
    const json = JSON.stringify(written).replace('"f"', '"\u2028"');
    expect(kept(same(written), json, written)).toBe(json.replace('\u2028', '\\u2028'));
  });

  it.each<[string, object, string, unknown]>([
    ['a line break', same(written), spaced.replace(' ', '\n'), written],
    ['a carriage return', same(written), spaced.replace(' ', '\r'), written],
    ['another value', { ...sent, name: 'g' }, spaced, written],
    ['a member more', { ...sent, async: true }, spaced, written],
    ['a member less', { type: 'function', name: 'f', description }, spaced, written],
    ['equal parameters that were written anew', { ...sent, parameters: { type: 'object' } }, spaced, written],
    ['a tool more', sent, spaced, [sent, sent]],
    ['no object', sent, spaced, ['f']],
  ])('are written anew with %s', (_what, echoed, json, parsed) => {
    expect(kept(echoed, json, parsed)).toBe(JSON.stringify([echoed]));
  });

  it.each([
    ['once', `"tools":${spaced}`],
    ['and again under a name with an escape', `"tools":${spaced},"to\\u006fls":${spaced.replace('"f"', '"last"')}`],
  ])('are repeated by an answer as the request has them: %s', (_how, members) => {
    const exchange = new Exchange(exchangeOptions());
    const body = Buffer.from(`{"model":"m","input":"Hi",${members}}`);
    const path = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
    exchange.handle({ type: 'request_headers', headers: headersOf(path), endOfStream: false });
    exchange.handle({ type: 'request_body', body, endOfStream: true });
    const headers = headersOf({ ':status': '200', 'content-type': 'application/json' });
    exchange.handle({ type: 'response_headers', headers, endOfStream: false });
    const completion = Buffer.from('{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}');
    const replies = exchange.handle({ type: 'response_body', body: completion, endOfStream: true });
    const answer = replies.map((reply) => ('body' in reply ? String(reply.body) : '')).join('');
    const { tools } = JSON.parse(body.toString()) as { readonly tools: unknown };
    expect((JSON.parse(answer) as { readonly tools: unknown }).tools).toEqual(tools);
    expect(answer.includes(spaced)).toBe(_how === 'once');
  });
});
