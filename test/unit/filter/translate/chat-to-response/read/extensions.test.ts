import { describe, expect, it } from 'vitest';
import { encodeLongEvents } from '../../../../../../src/filter/exchange/response/delivery.ts';
import { translateCompletion } from '../../../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../../../src/filter/translate/chat-to-response/stream.ts';
import { ApiError } from '../../../../../../src/filter/wire/schema/api-error.ts';
import { encodeSseEvents } from '../../../../../../src/filter/wire/sse/encode-events.ts';
import { type ContextSettings, createTestContext } from '../../../../../support/context.ts';
import { faultsOfStream } from '../../../../../support/invariants.ts';
import { runStream } from '../../../../../support/run-stream.ts';
import { wholeOf } from '../../../../../support/whole-of.ts';

const on = { passExtensions: true };
const contextOf = (settings: ContextSettings = {}) =>
  createTestContext({ stream: true, profileFlags: on, ...settings });
const translatorOf = (settings?: ContextSettings) => new StreamTranslator(contextOf(settings));
const answer = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] };
const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
const counted = (translator: StreamTranslator) => translator.summary().unread.map(({ type }) => type);

describe('an event of the upstream’s own', () => {
  it.each<[string, string, unknown]>([
    ['has data that is no object', 'acme:trace', ['a']],
    ['has data nested deeper than JSON can be written', 'acme:trace', { deep }],
    ['has no provider', ':trace', {}],
    ['has no type', 'acme:', {}],
    ['has a name that would need escaping', 'acme:"trace"', {}],
    ['has a name of more than 100 characters', `acme:${'x'.repeat(96)}`, {}],
  ])('is counted and not sent where it %s', (_, name, value) => {
    const translator = translatorOf();
    expect(translator.push(value, name)).toEqual([]);
    expect(counted(translator)).toEqual([name.slice(0, 100)]);
  });

  it('is counted where the client asked for JSON, which has no events', () => {
    const translator = translatorOf({ stream: false });
    expect(translator.push({ step: 1 }, 'acme:trace')).toEqual([]);
    expect(counted(translator)).toEqual(['acme:trace']);
  });

  it('is counted, and so are fields, where one item is made of all the output', () => {
    const translator = translatorOf({ kind: 'compaction' });
    translator.push({ step: 1 }, 'acme:trace');
    translator.push({ ...answer, acme: 1 });
    expect(JSON.stringify(translator.finish('done'))).not.toContain('acme');
    expect(counted(translator)).toEqual(['acme:trace', 'acme']);
  });

  it('begins the stream and is no answer: an error after it is an event', () => {
    const upstream = 'event: acme:trace\ndata: {"step":1}\n\ndata: {"error":{"message":"No.","code":500}}\n\n';
    const { bytes, error } = runStream([Buffer.from(upstream)], contextOf());
    expect(error).toBeNull();
    const types = Array.from(bytes.toString().matchAll(/^event: (.*)$/gm), ([, type]) => type);
    expect(types).toEqual(['response.created', 'response.in_progress', 'acme:trace', 'error', 'response.failed']);
    const cut = runStream([Buffer.from('event: acme:trace\ndata: {"step":1}\n\n')], contextOf()).bytes.toString();
    expect(cut).toContain('"code":"invalid_upstream_response"');
  });

  it('is no delta, whatever fields it has, and is not counted once it is sent', () => {
    const translator = translatorOf({ obfuscate: true });
    const [, , event] = translator.push({ delta: 'x'.repeat(999), output_index: 3, fields: 1 }, 'acme:trace');
    expect(encodeSseEvents(event === undefined ? [] : [event]).toString()).toBe(
      `event: acme:trace\ndata: {"type":"acme:trace","delta":"${'x'.repeat(999)}","output_index":3,"fields":1,"sequence_number":2}\n\n`,
    );
    expect(translator.response.outputTokens()).toBe(0);
    expect(counted(translator)).toEqual([]);
  });

  it('is the same among long events', () => {
    const events = [...translatorOf().push({ a: 1 }, 'acme:trace'), ...translatorOf().push({}, 'acme:empty')];
    expect(wholeOf(encodeLongEvents(events, false))).toEqual(encodeSseEvents(events));
  });
});

describe('a field of the upstream’s own', () => {
  const json = (body: object) => {
    const { response, unread } = translateCompletion(
      { ...body, choices: [{ message: { content: 'a' } }] },
      contextOf(),
    );
    return { response: response as object as Record<string, unknown>, unread: unread.map(({ type }) => type) };
  };

  it('is counted where the Response cannot have it', () => {
    const { response, unread } = json({
      user: 'u',
      deep,
      ['x'.repeat(101)]: 1,
      long: 'x'.repeat(64 * 1024 - 1),
      acme: 1,
    });
    expect(unread).toEqual(['user', 'deep', 'x'.repeat(100), 'long']);
    expect(response).toMatchObject({ acme: 1 });
    for (const name of ['user', 'deep', 'long']) expect(response).not.toHaveProperty(name);
    expect(json({ long: 'x'.repeat(64 * 1024 - 2) }).unread).toEqual([]);
  });

  it('takes the place of none that the Response has', () => {
    const own = json({}).response;
    // An error of the upstream’s is the answer’s.
    for (const name of Object.keys({ ...own, output_text: '' }).filter((name) => name !== 'error'))
      expect({ name, response: json({ [name]: [1] }).response }).toEqual({ name, response: own });
  });

  it('is counted in what has no choices: it may be the words of an error, with a key in them', () => {
    const translator = translatorOf();
    translator.push({ message: 'Bearer sk-1', user_id: 'org-1' });
    translator.push(answer);
    expect(JSON.stringify(translator.finish('done'))).not.toMatch(/sk-1|org-1/);
    expect(counted(translator)).toEqual(['message', 'user_id']);
  });

  it('has a place among 32', () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`x${index}`, index]));
    const { response, unread } = json(many);
    expect(response).toMatchObject({ x0: 0, x31: 31 });
    expect(unread).toEqual(['x32']);
  });

  it('of a name that JavaScript has is a field like others', () => {
    const { response } = json(JSON.parse('{"__proto__":{"status":"odd"},"toJSON":1,"constructor":2}'));
    expect(JSON.stringify(response)).toContain('"__proto__":{"status":"odd"}');
    expect(response).toMatchObject({ status: 'completed', toJSON: 1, constructor: 2 });
  });

  it('takes memory once, however often it comes, and none when the answer is shed', () => {
    const translator = translatorOf();
    const push = (acme: unknown) => translator.push({ acme, choices: [] });
    const before = translator.holds();
    push('x'.repeat(1000));
    const one = translator.holds() - before;
    expect(one).toBeGreaterThan(1000);
    push('y'.repeat(1000));
    expect(translator.holds() - before).toBe(one);
    push('z'.repeat(100_000));
    expect(translator.holds()).toBe(before);
    push('x'.repeat(1000));
    const error = new ApiError('Memory is short.', { status: 503, type: 'server_error', code: 'server_overloaded' });
    expect(JSON.stringify(translator.fail(error, true))).not.toContain('acme');
    expect(translator.holds()).toBe(0);
  });

  it('is on the last Response alone, also of a stream made from JSON, and on one that failed', () => {
    const { events } = translateCompletion(
      { acme: 1, choices: [{ message: { content: 'a' }, finish_reason: 'error' }] },
      contextOf(),
    );
    const text = `${encodeSseEvents(events)}data: [DONE]\n\n`;
    expect(faultsOfStream(text, { extensions: true })).toEqual([]);
    expect(text.split('\n').filter((line) => line.includes('"acme":1'))).toHaveLength(1);
    expect(text).toMatch(/"status":"failed".*"acme":1/);
  });
});
