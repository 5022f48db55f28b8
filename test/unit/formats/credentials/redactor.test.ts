import { describe, expect, it } from 'vitest';
import { isCredentialField, isCredentialHeader, redactionMark } from '../../../../src/formats/credentials/names.ts';
import { Redactor } from '../../../../src/formats/credentials/redactor.ts';
import { redactText } from '../../../../src/formats/credentials/urls.ts';

function bodyOf(text: string): string {
  return Buffer.from(new Redactor().body(Buffer.from(text).toString('latin1'), 'request'), 'latin1').toString();
}

function headersOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(new Redactor().headers(Object.entries(headers)));
}

describe('a long credential', () => {
  const known = (...values: string[]) => {
    const redactor = new Redactor();
    redactor.headers(values.map((value, at) => [`x-key-${at}`, value]));
    return redactor;
  };
  const value = `sk-1${'abc'.repeat(40)}`;

  it('is found whole, and where a text has no more than its beginning', () => {
    const text = (middle: string) => known(value).body(`<${middle}>${middle}`, 'request');
    expect(text(value)).toBe(`<${redactionMark}>${redactionMark}`);
    expect(text(value.slice(0, 64))).toBe(`<${redactionMark}>${redactionMark}`);
    expect(text(`${value.slice(0, 80)}!`)).toBe(`<${redactionMark}!>${redactionMark}!`);
    expect(text(value.slice(0, 63))).toBe(`<${value.slice(0, 63)}>${value.slice(0, 63)}`);
  });

  it('among many others is looked for in as much of a body as does not take long; the rest is left out', () => {
    const values = Array.from({ length: 128 }, (_, at) => `sk-${at}-0123456789`);
    const body = 'x'.repeat(300_000);
    const shown = (given: string[]) => {
      let left = 0;
      const text = known(...given).body(body, 'request', (bytes) => {
        left += bytes;
      });
      return [text.length, left];
    };
    expect(shown(values.slice(0, 1))).toEqual([300_000, 0]);
    expect(shown(values)).toEqual([262_144, 37_856]);
    expect(known(...values).body(body, 'request')).toHaveLength(300_000);
  });
});

it('a credential that begins with an escaped quote is redacted to its end', () => {
  expect(bodyOf('{"api_key":"\\"quoted secret","a":1}')).toBe(`{"api_key":"${redactionMark}","a":1}`);
});

describe('headers', () => {
  it.each([
    ...['content-type', 'user-agent', 'x-request-id', 'x-ratelimit-remaining-tokens', 'openai-organization', 'accept'],
    ...['session_id', 'traceparent', 'x-responses-dropped', 'www-authenticate', 'monkey', 'x-stainless-os'],
    ...['x-compass', 'x-patient', 'x-author', 'openai-processing-ms'],
  ])('%s is kept', (name) => {
    expect(headersOf({ [name]: 'x' })).toEqual({ [name]: 'x' });
  });

  it('of the pseudo headers the method, the path and the status are', () => {
    const headers = { ':path': '/v1?key=sk-1', ':authority': 'a', ':method': 'GET', ':status': '200' };
    expect(headersOf(headers)).toEqual({ ':path': `/v1?key=${redactionMark}`, ':method': 'GET', ':status': '200' });
  });

  it.each([
    ['/v1/responses', '/v1/responses'],
    ['/v1/responses?api-version=2026-01-01', '/v1/responses?api-version=2026-01-01'],
    ['/v1/responses?key=sk-1&api-version=1&x', `/v1/responses?key=${redactionMark}&api-version=1&x`],
    ['/v1/responses?a=b=c?d', `/v1/responses?a=${redactionMark}?d`],
    ['/v1/responses?a=&limit=2#access_token=t', `/v1/responses?a=&limit=2#access_token=${redactionMark}`],
    ['https://u:p@host:8080/a@b?code=1', `https://${redactionMark}@host:8080/a@b?code=${redactionMark}`],
    ['https://u:p@ss@host/a@b', `https://${redactionMark}@host/a@b`],
    ['//user@host/', `//${redactionMark}@host/`],
  ])('the address %s is %s, wherever it stands', (address, kept) => {
    for (const name of [':path', 'x-envoy-original-path', 'location', 'referer'])
      expect(headersOf({ [name]: address })).toEqual({ [name]: kept });
  });

  it('a URL among other text loses its user, and what is called like a credential', () => {
    expect(headersOf({ link: '<https://a:b@h/next?page=2&token=t>; rel="next"' })).toEqual({
      link: `<https://${redactionMark}@h/next?page=2&token=${redactionMark}>; rel="next"`,
    });
  });

  it('a credential that another header repeats is found there', () => {
    const shown = headersOf({ 'x-debug': 'got key-123456', authorization: 'Bearer key-123456' });
    expect(shown).toEqual({ 'x-debug': `got ${redactionMark}`, authorization: redactionMark });
  });

  it.each([
    ['Bearer key-123456', `Bearer ${redactionMark}`],
    ['correct horse battery staple 9', redactionMark],
    ['Bearer abcdefghijklmnopqr', redactionMark],
  ])('a credential %s that is repeated as it is written is shown as %s', (value, kept) => {
    expect(headersOf({ 'x-secret': value, 'x-debug': `(${value})` })['x-debug']).toBe(`(${kept})`);
  });

  const letters = (count: number) => 'abcdefghijklmnopqrstuvwxyz'.slice(0, count);
  const cookies = (count: number) => Array.from({ length: count }, (_pair, index) => `c${index}=x`).join('; ');
  it.each<[header: string, text: string, isFound: boolean]>([
    ['key-123', 'key-123', false],
    ['key-1234', 'key-1234', true],
    [letters(23), letters(23), false],
    [letters(24), letters(24), true],
    [`1${'x'.repeat(4095)}`, `1${'x'.repeat(4095)}`, true],
    [`1${'x'.repeat(4096)}`, `1${'x'.repeat(4096)}`, false],
    ['Custom key-1234', 'key-1234', true],
    ['Custom key-1234', 'Custom key-1234', true],
    ['apikey key-1234', 'key-1234', true],
    ['Basic bWU6cGFzc3dvcmQx', 'password1', true],
    ['Basic bWU6cGFzc3dvcmQx', 'me', false],
    ['Custom bWU6cGFzc3dvcmQx', 'password1', false],
    ['id=0123456789abcdef; a=b', '0123456789abcdef', true],
    ['a=b, id=0123456789abcdef', '0123456789abcdef', true],
    ['id=0123456789abcde; a=b', '0123456789abcde', false],
    [`${cookies(31)}; id=0123456789abcdef`, '0123456789abcdef', true],
    [`${cookies(32)}; id=0123456789abcdef`, '0123456789abcdef', false],
    ['my"key-1234', 'my\\"key-1234', true],
    ['my\\nkey-1234', 'my\nkey-1234', true],
    ['my\\xkey-1234', 'my\\xkey-1234', true],
    ['my%2Fkey-1234', 'my/key-1234', true],
    ['my%key-1234', 'my%key-1234', true],
  ])('a credential %j is found again in %j: %s', (header, text, isFound) => {
    const redactor = new Redactor();
    redactor.headers([['x-api-key', header]]);
    expect(redactor.text(`(${text})`)).toBe(isFound ? `(${redactionMark})` : `(${text})`);
    expect(redactor.body(`(${text})`, 'answer')).toBe(isFound ? `(${redactionMark})` : `(${text})`);
  });

  it('credentials beyond a hundred are not found again: each costs a search', () => {
    const redactor = new Redactor();
    redactor.headers(Array.from({ length: 129 }, (_key, index) => ['x-api-key', `key-${1000 + index}`]));
    expect(redactor.text('key-1000 key-1127 key-1128')).toBe(`${redactionMark} ${redactionMark} key-1128`);
  });

  it('so is one in a body with characters beyond ASCII, in bodies and in texts', () => {
    const redactor = new Redactor();
    const bodyOf = (text: string) => redactor.body(Buffer.from(text).toString('latin1'), 'request');
    bodyOf('{"api_key":"schlüssel-123456"}');
    expect(bodyOf('not schlüssel-123456')).toBe(`not ${redactionMark}`);
    expect(redactor.text('not schlüssel-123456')).toBe(`not ${redactionMark}`);
  });

  it('so is one that is a part of another, alone and within it, in whichever order they come', () => {
    const keys = ['key-123456', 'my-key-123456-is-long'];
    for (const [one, other] of [keys, keys.toReversed()]) {
      const shown = headersOf({
        'x-api-key': one ?? '',
        'x-token': other ?? '',
        'x-debug': 'my-key-123456-is-long, key-123456.',
      });
      expect(shown['x-debug']).toBe(`${redactionMark}, ${redactionMark}.`);
    }
  });
});

describe('JSON', () => {
  it('credentials of an MCP server in a tool', () => {
    const tool = {
      type: 'mcp',
      server_url: 'https://me:pw@mcp.example/sse?apikey=k&v=2',
      authorization: 'tok\\"en',
      headers: { Authorization: 'Bearer x', Accept: 'z', token: 'y', 'X-Api-Key': 'y' },
      token: 'Hel',
    };
    const body = JSON.stringify({ input: 'my password: "hunter2"', tools: [tool], prompt_cache_key: 'k' });
    expect(JSON.parse(bodyOf(body))).toEqual({
      input: 'my password: "hunter2"',
      tools: [
        {
          type: 'mcp',
          server_url: `https://${redactionMark}@mcp.example/sse?apikey=${redactionMark}&v=2`,
          authorization: redactionMark,
          headers: { Authorization: redactionMark, Accept: 'z', token: redactionMark, 'X-Api-Key': redactionMark },
          token: 'Hel',
        },
      ],
      prompt_cache_key: 'k',
    });
  });

  it.each([
    ['{"authorization" : "a\\\\", "x": 1}', `{"authorization" : "${redactionMark}", "x": 1}`],
    [
      '{"a":{"api-key":\n"sk\\"1"},"password":"p","n":1}',
      `{"a":{"api-key":\n"${redactionMark}"},"password":"${redactionMark}","n":1}`,
    ],
    [
      '{"password":7,"cookie":null,"secret":true,"x":"password:y"}',
      `{"password":"${redactionMark}","cookie":null,"secret":true,"x":"password:y"}`,
    ],
    ['{"password":-1.5e+3}', `{"password":"${redactionMark}"}`],
    [
      '{"api_keys":["a",["b\\"",7], "c,]"],"n":["d"]}',
      `{"api_keys":["${redactionMark}",["${redactionMark}","${redactionMark}"], "${redactionMark}"],"n":["d"]}`,
    ],
    ['{"api\\u005fkey":"sk"}', `{"api\\u005fkey":"${redactionMark}"}`],
    [
      '{"a":"{\\"api_key\\": \\"s\\\\\\"k\\", \\"b\\":1}","c":2}',
      `{"a":"{\\"api_key\\": \\"${redactionMark}\\", \\"b\\":1}","c":2}`,
    ],
    [
      '{"a":"http:\\/\\/u:p@h\\/?a=1\\u0026sig=x"}',
      `{"a":"http:\\/\\/${redactionMark}@h\\/?a=1\\u0026sig=${redactionMark}"}`,
    ],
    ['{"headers":{"ab":1},"token":"Hel"}', '{"headers":{"ab":1},"token":"Hel"}'],
    ['{"a":"x:://u:p@h/"}', `{"a":"x:://${redactionMark}@h/"}`],
    ['{"password":"cut off', `{"password":"${redactionMark}`],
    [':', ':'],
    ['"":"', '"":"'],
  ])('written in any way, or cut: %s', (body, kept) => {
    expect(bodyOf(body)).toBe(kept);
  });

  it.each([
    ...['token', 'tokens', 'max_tokens', 'max_output_tokens', 'stop_token_ids', 'prompt_cache_key', 'keys', 'key'],
    ...['signature', 'thought_signature', 'encrypted_content', 'author', 'next_page_token', 'tokenizer', 'compass'],
    ...['reasoning_tokens', 'sort_key', 'pattern', 'path'],
  ])('a field %s is content', (name) => {
    expect(isCredentialField(name)).toBe(false);
  });

  it('a schema that describes such a field stays as it is, and so do bytes that are no text', () => {
    const body =
      '{"properties":{"api_key":{"type":"string"},"token":{"type":"string"},"headers":{"type":"object"}},"required":["api_key"]}';
    expect(bodyOf(body)).toBe(body);
    const noText = Buffer.from([0xff, 0x3a, 0xfe, ...Buffer.from('{"password":"sk-1"}'), 0x80]);
    const shown = [0xff, 0x3a, 0xfe, ...Buffer.from(`{"password":"${redactionMark}"}`), 0x80];
    const kept = new Redactor().body(noText.toString('latin1'), 'request');
    expect([...Buffer.from(kept, 'latin1')]).toEqual(shown);
  });
});

describe('an error’s message', () => {
  it.each([
    ['Incorrect API key provided: sk-proj-abcdefghij0123456789', `Incorrect API key provided: ${redactionMark}`],
    ['refused "Authorization: Bearer abc.def-123456"', `refused "Authorization: Bearer ${redactionMark}"`],
    ['connect to https://user:pw@host:1/ failed', `connect to https://${redactionMark}@host:1/ failed`],
    ['Bearer token is missing, Basic authentication is not', null],
    ['Incorrect API key provided: sk-proj-*****6789', null],
    ['the model xai-grok-4-fast-reasoning does not exist', null],
    ['refused x-api-key: abcd1234efgh', `refused x-api-key: ${redactionMark}`],
    ['api-key: "abcd1234", status 401', `api-key: "${redactionMark}", status 401`],
    ['bad request /v1?key=abcd&n=1', `bad request /v1?key=${redactionMark}&n=1`],
    ['login with password=hunter failed', `login with password=${redactionMark} failed`],
    ['got {"api_key": "abcdefgh-ijklmnop"}', `got {"api_key": "${redactionMark}"}`],
    ['got {\\"secret\\":\\"abcd1234\\"}', `got {\\"secret\\":\\"${redactionMark}\\"}`],
    ['Invalid api_key: please check it', null],
    ['max_tokens=131072, token: 131072, cache_key=abcd1234', null],
    // Behind the name of a header a word is a credential without a digit too.
    ['refused x-api-key: topsecretvalue', `refused x-api-key: ${redactionMark}`],
    ['refused header: api-key: hunterhunter by us', `refused header: api-key: ${redactionMark} by us`],
    ['refused x-api-key:         abcd1234', `refused x-api-key:         ${redactionMark}`],
    ['Authorization: topsecretvalue', `Authorization: ${redactionMark}`],
    ['Authorization: Bearer topsecretvalue', `Authorization: Bearer ${redactionMark}`],
    ["send 'Authorization: Bearer <key>' or Authorization: Basic", null],
    // Behind another name and a colon it is one where no other word follows, as in prose.
    ['password: hunter\nuser: me', `password: ${redactionMark}\nuser: me`],
    ['password: must be longer', null],
    ['login with password=abc', `login with password=${redactionMark}`],
    ['password=ab,cd12345, user=me', `password=${redactionMark}, user=me`],
    ['secret=ab,user=me', `secret=${redactionMark},user=me`],
    ['password:ab:cd1234', `password:${redactionMark}`],
    ['missing key: name, token: expired', null],
  ])('%s', (message, shown) => {
    expect(redactText(message)).toBe(shown ?? message);
  });
});

it.each(['Authorization', 'x-amz-security-token', 'ocp-apim-subscription-key', 'sec-websocket-key'])(
  'the header %s is one in any case',
  (name) => {
    for (const one of [name, name.toLowerCase(), name.toUpperCase()]) expect(isCredentialHeader(one)).toBe(true);
  },
);
