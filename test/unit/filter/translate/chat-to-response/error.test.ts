import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findError, translateError } from '../../../../../src/filter/translate/chat-to-response/error.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { runs } from '../../../../support/property-runs.ts';

const answer = (body: string, status = 500) => ({ status, contentType: null, body, retryAfter: null });

describe('translateError', () => {
  it('cuts a message at 2 KiB of UTF-8, between characters', () => {
    const long = 'é😀'.repeat(2000);
    const { message } = translateError(answer(JSON.stringify({ error: { message: long } })));
    // 2,045 bytes for the text: 340 times six, and the half of a character is left out.
    expect(message).toBe(`${'é😀'.repeat(340)}é…`);
  });

  it('shows no credential in a code or a param either', () => {
    const secret = 'sk-proj-abcdefghij0123456789';
    for (const error of [
      { message: 'm', code: `bad ${secret}` },
      { message: 'm', param: `headers ${secret}` },
      { message: 'm', type: secret },
      { message: `refused x-api-key: abcd1234efgh5678` },
    ]) {
      const told = JSON.stringify(translateError(answer(JSON.stringify({ error }), 400)).toObject());
      expect(told).not.toMatch(/abcdefghij|abcd1234/);
      expect(JSON.stringify(findError({ choices: [], error })?.toObject())).not.toMatch(/abcdefghij|abcd1234/);
    }
    expect(
      translateError(answer(JSON.stringify({ error: { message: 'm', code: 'c'.repeat(9000) } }))).code,
    ).toHaveLength(2046);
  });

  it.each([
    ['where the message is cut', `${'word '.repeat(406)}sk-abcdefghij0123456789`],
    ['where the search for them ends', `password=${'x'.repeat(8160)} sk-${'abcdefghij'.repeat(9)}1`],
  ])('shows no half of a credential %s', (_, message) => {
    expect(translateError(answer(JSON.stringify({ error: { message } }))).message).not.toMatch(/sk-|abc/);
  });

  it('leaves a message of exactly 2 KiB whole', () => {
    const message = 'x'.repeat(2048);
    expect(translateError(answer(JSON.stringify({ error: message }))).message).toBe(message);
    const { message: cut } = translateError(answer(JSON.stringify({ error: `${message}x` })));
    expect(cut).toBe(`${'x'.repeat(2045)}…`);
  });

  it('shows nothing of a body that is not text', () => {
    const gzip = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]).toString('utf8');
    expect(translateError(answer(gzip)).message).toBe('Upstream returned HTTP 500');
  });

  it.each([
    ['messages', 'input'],
    ['prompt', 'input'],
    ['input_tokens', 'input'],
    ['image', 'input'],
    ['audio', 'input'],
    ['video', 'input'],
    ['max_tokens', 'max_output_tokens'],
    ['max_completion_tokens', 'max_output_tokens'],
    ['max_new_tokens', 'max_output_tokens'],
    ['response_format', 'text.format'],
    ['reasoning_effort', 'reasoning.effort'],
    ['verbosity', 'text.verbosity'],
    ['logprobs', 'top_logprobs'],
    ['functions', 'tools'],
    ['tools.0.function', 'tools'],
    ['tool_choice', 'tool_choice'],
    ['function_call', 'tool_choice'],
    ['top_k', 'top_k'],
  ])('names the client’s field for the upstream’s: %s is %s', (param, field) => {
    const { param: shown } = translateError(answer(JSON.stringify({ error: { message: 'No.', param } }), 400));
    expect(shown).toBe(field);
  });

  it.each([
    ['invalid_request_error', 400],
    ['authentication_error', 401],
    ['permission_error', 403],
    ['not_found_error', 404],
    ['rate_limit_error', 429],
    ['server_error', 500],
    ['api_error', 500],
    ['overloaded_error', 503],
    ['an unknown one', 502],
  ])('takes the status of an error inside a 200 from its type: %s is %d', (type, status) => {
    expect(findError({ error: { type, message: 'No.' } })?.status).toBe(status);
  });

  it.each([
    'insufficient_quota',
    'exceeded_current_quota_error',
    '1113',
    'insufficient_balance',
    'billing_hard_limit_reached',
  ])('says of a 429 that no waiting ends that the quota is spent: %s, as a type or a code', (word) => {
    for (const field of ['type', 'code']) {
      const body = JSON.stringify({ error: { message: 'No.', [field]: word } });
      expect(translateError(answer(body, 429))).toMatchObject({ status: 429, code: 'insufficient_quota' });
    }
  });

  it('does not follow an error down for ever', () => {
    const deep = `${'{"error":'.repeat(20_000)}"bottom"${'}'.repeat(20_000)}`;
    expect(translateError(answer(deep)).message).toBe('Upstream returned HTTP 500');
    const list = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    expect(translateError(answer(list)).message).toBe('Upstream returned HTTP 500');
  });

  it('never throws, and always gives a status, a code and a message of bounded size', () => {
    const words = fc.constantFrom(
      'error',
      'message',
      'code',
      'type',
      'detail',
      'errors',
      'msg',
      'loc',
      'status',
      'param',
    );
    const { body } = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.boolean()),
      body: fc.oneof(
        { maxDepth: 5 },
        tie('leaf'),
        fc.array(tie('body'), { maxLength: 3 }),
        fc.dictionary(words, tie('body'), { maxKeys: 4 }),
      ),
    }));
    const text = fc.oneof(
      body.map((value) => JSON.stringify(value)),
      fc.string(),
      fc.string().map((rest) => `data: ${rest}`),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: -1, max: 700 }), fc.option(fc.string()), (content, status, retryAfter) => {
        const error = translateError({ status, contentType: null, body: content, retryAfter });
        expect(error.status).toBeGreaterThanOrEqual(400);
        expect(error.status).toBeLessThanOrEqual(599);
        expect(error.code).not.toBe('');
        expect(error.message).not.toBe('');
        expect(Buffer.byteLength(error.message)).toBeLessThanOrEqual(2048 + 64);
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('findError', () => {
  it.each([
    ['a chunk', { choices: [{ delta: { content: 'a' } }] }],
    ['a chunk with `error: null`', { error: null, choices: [] }],
    ['`error: ""`, `{}` and `false`', [{ error: '' }, { error: {} }, { error: false }]],
    ['a text', 'error'],
    ['null', null],
    ['an empty list', []],
    ['a message that is not an error', { message: 'hello' }],
  ])('finds none in %s', (_, value) => {
    expect(findError(value)).toBeNull();
  });

  it.each([
    [
      'E1, OpenRouter',
      { id: 'x', error: { code: 502, message: 'm' }, choices: [{ delta: { content: '' }, finish_reason: 'error' }] },
      502,
      'model_error',
      'upstream_error',
    ],
    ['E1 without a status', { error: { message: 'm' }, choices: [] }, 502, 'model_error', 'upstream_error'],
    [
      'E1 with the client’s mistake',
      { error: { code: 429, message: 'm' }, choices: [] },
      429,
      'too_many_requests',
      'rate_limit_exceeded',
    ],
    [
      'E2, vLLM',
      { error: { message: 'm', type: 'BadRequestError', code: 400 } },
      400,
      'invalid_request',
      'invalid_request',
    ],
    ['E3, SGLang', { object: 'error', message: 'm', code: 400 }, 400, 'invalid_request', 'invalid_request'],
    ['E4, TGI', { error: 'm', error_type: 'overloaded' }, 502, 'server_error', 'upstream_error'],
    [
      'E4, Anthropic',
      { type: 'error', error: { type: 'overloaded_error', message: 'm' } },
      503,
      'server_error',
      'server_overloaded',
    ],
    [
      'E5, llama.cpp',
      { error: { code: 500, message: 'm', type: 'server_error' } },
      500,
      'server_error',
      'server_error',
    ],
    [
      'an error in the choice',
      { choices: [{ error: { code: 500, message: 'm' } }] },
      502,
      'model_error',
      'upstream_error',
    ],
  ])('reads %s', (_, value, status, type, code) => {
    const error = findError(value);
    expect(error).toBeInstanceOf(ApiError);
    expect({ status: error?.status, type: error?.type, code: error?.code, message: error?.message }).toEqual({
      status,
      type,
      code,
      message: 'm',
    });
  });
});
