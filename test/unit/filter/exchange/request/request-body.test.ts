import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { runSteps } from '../../../../../src/filter/exchange/exchange.ts';
import { readRequestBody } from '../../../../../src/filter/exchange/request/request-body.ts';
import type { Hold } from '../../../../../src/filter/exchange/types.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../../src/filter/wire/schema/chat-request.ts';
import { runRequest } from '../../../../../src/tools/explain/run-request.ts';
import { brotli } from '../../../../support/brotli.ts';
import { explainSetupOf } from '../../../../support/config-of-settings.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { headersOf } from '../../../../support/exchange-options.ts';
import { remedy } from '../../../../support/remedy.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const limits = { maxRequestBytes: 10_000, maxNesting: 64, maxValues: 4_000 };

interface Sent {
  readonly contentType?: string | null;
  readonly contentEncoding?: string | null;
  readonly limits?: Partial<typeof limits>;
  readonly hold?: Hold;
}

function read(body: string | Uint8Array, sent: Sent = {}): unknown {
  const { contentType = 'application/json', contentEncoding = null } = sent;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = headersOf({
    ...(contentType !== null && { 'content-type': contentType }),
    ...(contentEncoding !== null && { 'content-encoding': contentEncoding }),
  });
  return runSteps(readRequestBody(bytes, headers, { ...limits, ...sent.limits }, sent.hold ?? (() => null)));
}

/** Status, code and param of what was thrown. */
function refusal(body: string | Uint8Array, sent: Sent = {}): unknown {
  try {
    read(body, sent);
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    if (thrown.status < 500) expect(thrown.message).toMatch(remedy);
    return [thrown.status, thrown.type, thrown.code, thrown.param];
  }
  throw new Error('nothing was thrown');
}

function message(body: string | Uint8Array, sent: Sent = {}): string {
  try {
    read(body, sent);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  throw new Error('nothing was thrown');
}

describe('a request body', () => {
  it('is read as JSON', () => {
    expect(read('{"a":[1,"x",null,true]}')).toEqual({ a: [1, 'x', null, true] });
  });

  it('may begin with a byte order mark', () => {
    expect(read('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  it('may not be empty', () => {
    expect(refusal('')).toEqual([400, 'invalid_request', 'invalid_json', null]);
    expect(message('')).toBe('The request body is empty. Send one JSON object.');
  });

  it.each([
    ['{a', /position 1/],
    ['{"a": x}', /Unexpected token 'x'\. Send one JSON object\.$/],
    ['{"a":1} trailing', /after JSON/],
    ['   ', /Unexpected end/],
  ])('that is not JSON is refused with the parser’s reason: %s', (body, reason) => {
    expect(refusal(body)).toEqual([400, 'invalid_request', 'invalid_json', null]);
    expect(message(body)).toMatch(reason);
  });

  it('does not quote itself in the error', () => {
    expect(message('{"secret": "hunter2", x')).not.toContain('hunter2');
    expect(message('"hunter2" hunter2')).not.toContain('hunter2');
  });

  it('that is not UTF-8 is refused', () => {
    expect(refusal(Buffer.from([0x22, 0xff, 0x22]))).toEqual([400, 'invalid_request', 'invalid_json', null]);
    expect(refusal(Buffer.from('{"a":1}', 'utf16le'))).toEqual([400, 'invalid_request', 'invalid_json', null]);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;CHARSET="UTF-8"',
    'application/vnd.acme+json',
    'text/json',
    '',
    null,
  ])('is JSON by the type %s', (contentType) => {
    expect(read('{}', { contentType })).toEqual({});
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
  ])('of type %s is refused', (contentType) => {
    expect(refusal('{}', { contentType })).toEqual([415, 'invalid_request', 'unsupported_media_type', 'content-type']);
  });

  it('repeats no more than 100 characters of a type', () => {
    const long = `a${'x'.repeat(99)}y`;
    expect(message('{}', { contentType: long })).toBe(
      `Content type '${long.slice(0, -1)}' is not supported. Send application/json in UTF-8.`,
    );
    expect(message('{}', { contentEncoding: long })).toBe(
      `Content encoding '${long.slice(0, -1)}' is not supported. Send gzip, deflate, br, zstd, or none.`,
    );
  });
});

describe('a compressed request body', () => {
  const text = JSON.stringify({ input: 'x'.repeat(500) });
  const codings: [string, (bytes: Uint8Array) => Buffer][] = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotli],
    ['zstd', zstdCompressSync],
    ['GZIP', gzipSync],
    ['identity', Buffer.from],
  ];

  it.each(codings)('in %s is read', (contentEncoding, compress) => {
    expect(read(compress(Buffer.from(text)), { contentEncoding })).toEqual(JSON.parse(text));
  });

  it('in two codings is read, the last undone first', () => {
    const bytes = zstdCompressSync(gzipSync(Buffer.from(text)));
    expect(read(bytes, { contentEncoding: 'gzip, zstd' })).toEqual(JSON.parse(text));
  });

  it.each(codings.filter(([name]) => name !== 'identity'))(
    'in %s that grows beyond the limit is a 413',
    (contentEncoding, compress) => {
      const bomb = compress(Buffer.alloc(50_000_000, ' '));
      expect(refusal(bomb, { contentEncoding, limits: { maxRequestBytes: 1_000_000 } })).toEqual([
        413,
        'invalid_request',
        'request_too_large',
        null,
      ]);
    },
  );

  it.each(codings.filter(([name]) => name !== 'identity'))(
    'in %s that is cut or damaged is refused',
    (contentEncoding, compress) => {
      const cut = compress(Buffer.from(text)).subarray(0, 12);
      expect(refusal(cut, { contentEncoding })).toEqual([
        400,
        'invalid_request',
        'invalid_encoding',
        'content-encoding',
      ]);
      expect(refusal('not compressed', { contentEncoding })).toEqual([
        400,
        'invalid_request',
        'invalid_encoding',
        'content-encoding',
      ]);
    },
  );

  it.each(['compress', 'gzip, rot13', 'gzip, gzip, gzip, gzip'])('in %s is refused', (contentEncoding) => {
    expect(refusal(gzipSync(Buffer.from(text)), { contentEncoding })).toEqual([
      415,
      'invalid_request',
      'unsupported_content_encoding',
      'content-encoding',
    ]);
  });
});

describe('memory', () => {
  const body = `"${'x'.repeat(900)}"`;

  it('is reserved for what a compressed body becomes, before it is parsed', () => {
    const compressed = gzipSync(body);
    const reserved: [number, number | undefined][] = [];
    const hold: Hold = (held, ofBody) => {
      reserved.push([held, ofBody]);
      return null;
    };
    read(compressed, { contentEncoding: 'gzip', hold });
    expect(reserved).toEqual([[compressed.length + body.length, compressed.length + body.length]]);
    read(body, { hold });
    expect(reserved).toHaveLength(1);
  });

  it('that is not there refuses the body unparsed', () => {
    const full = new ApiError('full', { status: 503, type: 'server_error', code: 'server_overloaded' });
    const hold: Hold = (bytes) => (bytes > 500 ? full : null);
    expect(refusal(gzipSync('x'.repeat(900)), { contentEncoding: 'gzip', hold })).toEqual([
      503,
      'server_error',
      'server_overloaded',
      null,
    ]);
  });
});

describe('the limits of a request body', () => {
  it('are the same for a compressed body: as long as the limit, and no longer', () => {
    const body = `"${'x'.repeat(9_998)}"`;
    expect(read(gzipSync(body), { contentEncoding: 'gzip' })).toHaveLength(9_998);
    expect(refusal(gzipSync(`${body} `), { contentEncoding: 'gzip' })).toEqual([
      413,
      'invalid_request',
      'request_too_large',
      null,
    ]);
  });

  it('allow a body as long as the limit, and no longer', () => {
    const body = `"${'x'.repeat(9_998)}"`;
    expect(read(body)).toHaveLength(9_998);
    expect(refusal(`${body} `)).toEqual([413, 'invalid_request', 'request_too_large', null]);
    expect(message(`${body} `)).toContain('10000 bytes');
  });

  it('allow as many levels as the limit, and no more', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => read(nested(64))).not.toThrow();
    expect(refusal(nested(65))).toEqual([400, 'invalid_request', 'nesting_too_deep', null]);
    expect(message(nested(65))).toContain('64 levels');
    expect(() => read(`${'{"a":'.repeat(3)}1${'}'.repeat(3)}`, { limits: { maxNesting: 3 } })).not.toThrow();
    expect(() => read(`${'{"a":'.repeat(4)}1${'}'.repeat(4)}`, { limits: { maxNesting: 3 } })).toThrow(/too deep/);
  });

  it('do not count brackets in strings, or levels beside each other', () => {
    const body = JSON.stringify({ a: '[[[[{{{{\\"[[[[', b: [[], [], {}] });
    expect(read(body, { limits: { maxNesting: 3 } })).toEqual(JSON.parse(body));
  });

  it('stop a million levels before they are built', () => {
    const body = '['.repeat(1_000_000);
    expect(refusal(body, { limits: { maxRequestBytes: 2_000_000 } })).toEqual([
      400,
      'invalid_request',
      'nesting_too_deep',
      null,
    ]);
  });
});

describe('numbers beyond what a JavaScript number holds', () => {
  const exact = [
    '{"maximum":9223372036854775807,"minimum":-9223372036854775808}',
    '{"multipleOf":0.1234567890123456789}',
    '{"maximum":1e400}',
    '{"const":[123456789012345678901234567890]}',
    '{"maximum":9007199254740993,"minimum":-9007199254740993}', // of 16 digits, the fewest that may be lost
  ];

  it.each(exact)('leave as they came: %s', (schema) => {
    expect(JSON.stringify(read(schema))).toBe(schema);
  });

  it('leave other numbers plain numbers', () => {
    const text = '{"a":9007199254740991,"b":1.5,"c":-2.5e3,"d":0,"e":12345678901234567890}';
    expect(read(text)).toMatchObject({ a: 9007199254740991, b: 1.5, c: -2500, d: 0 });
  });

  it('are not looked for inside strings', () => {
    expect(read('{"a":"12345678901234567890"}')).toEqual({ a: '12345678901234567890' });
  });

  it('reach the upstream in a tool’s schema, and do not disturb the fields beside it', () => {
    const body = read(
      '{"model":"m","input":"x","temperature":0.70000000000000001,"seed":12345678901234567890,' +
        '"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}}]}',
    );
    const clock = { now: () => 1, newId: createCountedIds() };
    const { chat, passthrough, context } = translateRequest(body, createTestSettings(), clock);
    expect(JSON.stringify(chat.tools)).toContain('"maximum":9223372036854775807');
    expect(JSON.stringify(chatRequestBody(chat, passthrough))).toContain('"seed":12345678901234567890');
    expect(chat.temperature).toBe(0.7);
    expect(JSON.stringify(context.echo.tools)).toContain('9223372036854775807');
  });

  it('are out of range where there is a range', () => {
    const clock = { now: () => 1, newId: createCountedIds() };
    const body = read('{"model":"m","input":"x","temperature":1e400}');
    expect(() => translateRequest(body, createTestSettings(), clock)).toThrow(/above maximum value/);
  });
});

it('the content type is that of the request’s headers', () => {
  const body = Buffer.from('{"model":"m","input":"Hi"}');
  const outcomeOf = (type: string) =>
    runRequest(
      explainSetupOf({}),
      { method: 'POST', path: '/v1/responses', headers: new Map([['content-type', type]]), body },
      1,
    );
  expect(outcomeOf('application/json')).toMatchObject({ type: 'sent' });
  expect(outcomeOf('text/plain')).toMatchObject({ type: 'refused', status: 415 });
});
