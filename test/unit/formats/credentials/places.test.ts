import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createExchangeFactory } from '../../../../src/service/server/exchanges.ts';
import { createExchangeStore } from '../../../../src/tools/inspect/exchange-store.ts';
import { createRecorder } from '../../../../src/tools/inspect/record-exchanges.ts';
import { explainSetupOf } from '../../../support/config-of-settings.ts';
import { repliesOf } from '../../../support/exchange-options.ts';
import { detailOf } from '../../../support/recorded-exchange.ts';

/** Names of headers, parameters and fields alike. */
const names = [
  ...['authorization', 'Authorization', 'proxy-authorization', 'X-Authorization', 'authorization_header', 'x-auth'],
  ...['cookie', 'set-cookie', 'session_cookie', 'x-api-key', 'X-API-Key', 'api-key', 'api_key', 'apikey', 'apiKey'],
  ...['API_KEY', 'OPENAI_API_KEY', 'openai-api-key', 'x-goog-api-key', 'ocp-apim-subscription-key', 'subscriptionKey'],
  ...['aws_secret_access_key', 'AWS_SESSION_TOKEN', 'awsAccessKey', 'x-amz-security-token', 'accessKey', 'secret_key'],
  ...[
    'PRIVATE-TOKEN',
    'private_token',
    'private-key',
    'ssh_private_key',
    'signing_key',
    'encryption_key',
    'master_key',
  ],
  ...[
    'access_token',
    'accessToken',
    'accesstoken',
    'refresh_token',
    'refreshToken',
    'id_token',
    'auth_token',
    'x-auth-token',
  ],
  ...[
    'bearer',
    'bearer_token',
    'bot-token',
    'csrf_token',
    'x-csrf-token',
    'user_token',
    'x-vault-token',
    'deploy_token',
  ],
  ...['client_secret', 'clientSecret', 'secret', 'webhook-secret', 'app.secret', 'password', 'PASSWORD', 'db_password'],
  ...['passwd', 'pwd', 'passphrase', 'x-passphrase', 'x-pat', 'github_pat', 'jwt', 'x-jwt-assertion', 'credentials'],
  ...['api_keys', 'service_account_key', 'storage_account_key', 'sas_token', 'hmac-key', 'api_key_2', 'apiToken'],
];

it('there are more than sixty spellings', () => {
  expect(new Set(names).size).toBeGreaterThan(60);
});

interface Recorded {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly status?: number;
  readonly answerHeaders?: Readonly<Record<string, string>>;
  readonly answer?: string;
}

/** Where a credential can stand, under a name where it has one. */
const places: Readonly<Record<string, (name: string, secret: string) => Recorded>> = {
  'a header': (name, secret) => ({ headers: { [name]: secret } }),
  'a header with a scheme': (name, secret) => ({ headers: { [name]: `Bearer ${secret}` } }),
  'a header in Basic': (name, secret) => ({
    headers: { [name]: `Basic ${btoa(`me:${secret}`)}` },
    ...refusal(`the password ${secret} of me is wrong, ${btoa(`me:${secret}`)}`),
  }),
  'the query': (name, secret) => ({ path: `/v1/responses?${name}=${secret}&a=1` }),
  'the query, under any name': (_name, secret) => ({ path: `/v1/responses?zzz=${secret}` }),
  'the path before a rewrite': (name, secret) => ({ headers: { 'x-envoy-original-path': `/a?${name}=${secret}` } }),
  'the referer': (_name, secret) => ({ headers: { referer: `https://me:${secret}@host/a` } }),
  'the address of an MCP server': (name, secret) => ({
    body: mcp({ server_url: `https://host/sse?${name}=${secret}` }),
  }),
  'the user of an MCP server': (_name, secret) => ({ body: mcp({ server_url: `https://${secret}:x@host/sse` }) }),
  'the authorization of an MCP server': (_name, secret) => ({ body: mcp({ authorization: secret }) }),
  'a header of an MCP server': (name, secret) => ({ body: mcp({ headers: { accept: 'a', [name]: secret, z: 'b' } }) }),
  'the token header of an MCP server': (_name, secret) => ({ body: mcp({ headers: { token: secret } }) }),
  metadata: (name, secret) => ({ body: { metadata: { [name]: secret } } }),
  'a field that nobody knows': (name, secret) => ({ body: { extra_body: { a: [{ [name]: secret }] } } }),
  'a list': (name, secret) => ({ body: { extra_body: { [name]: ['a', [secret], { a: secret }] } } }),
  'the arguments of a call': (name, secret) => ({
    body: {
      input: [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: JSON.stringify({ a: 1, [name]: `${secret}"\\` }) },
        { type: 'function_call_output', call_id: 'c', output: 'done' },
      ],
    },
  }),
  'the address of an image': (name, secret) => ({
    body: {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: `https://u:${secret}@h/?a=1&${name}=${secret}` }] },
      ],
    },
  }),
  'a prompt that repeats the header': (name, secret) => ({
    headers: { [name]: `Bearer ${secret}` },
    body: { instructions: `use ${secret}.` },
  }),
  'a header of the answer': (name, secret) => ({ answerHeaders: { [name]: secret } }),
  'the location of the answer': (_name, secret) => ({ status: 302, answerHeaders: { location: `/a?code=${secret}` } }),
  'a cookie of the answer': (_name, secret) => ({ answerHeaders: { 'set-cookie': `id=${secret}; Path=/` } }),
  'a field of the answer': (name, secret) => ({
    answer: JSON.stringify({ ...completion('Hi'), extra: { [name]: secret } }),
  }),
  'text of the answer that repeats the header': (name, secret) => ({
    headers: { [name]: secret },
    answer: JSON.stringify(completion(`you sent ${secret}, did you`)),
  }),
  'an error that repeats the header': (name, secret) => ({
    headers: { [name]: `Bearer ${secret}` },
    ...refusal(`Incorrect API key provided: ${secret}.`),
  }),
  'an error with the gateway’s own header': (_name, secret) => refusal(`invalid 'Authorization: Bearer ${secret}'`),
  'an error with a field': (name, secret) => ({
    status: 400,
    answer: JSON.stringify({ error: { message: 'no', [name]: secret } }),
  }),
  'an error with an address': (_name, secret) => refusal(`cannot reach https://me:${secret}@host:1/`),
  'an error in plain text': (_name, secret) => ({
    status: 502,
    answerHeaders: { 'content-type': 'text/plain' },
    answer: `bad Bearer ${secret} here`,
  }),
  'an error inside a 200': (_name, secret) => ({
    answer: JSON.stringify({ error: { message: `Bearer ${secret} is no key` } }),
  }),
};

function mcp(fields: object): object {
  return { tools: [{ type: 'mcp', server_label: 'm', ...fields }] };
}

function completion(content: string): object {
  return { model: 'm', choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] };
}

function refusal(message: string): Recorded {
  return { status: 401, answer: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) };
}

const { config, profile } = explainSetupOf({});

/** All that the inspector keeps of the exchange, as one text. */
function kept(recorded: Recorded, cuts: readonly number[]): string {
  const store = createExchangeStore();
  const recorder = createRecorder(store);
  let id = 0;
  const clock = { now: () => 1, newId: (prefix: string) => `${prefix}_${++id}` };
  const profiles = { profileOf: () => profile, names: () => [profile.name] };
  const factory = createExchangeFactory(config, profiles, () => {}, { createExchange: recorder.createExchange, clock });
  const { exchange } = factory.open({}, { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' }, null);
  const { path = '/v1/responses', headers = {}, body = {}, status = 200, answerHeaders = {} } = recorded;
  const lower = (given: object) => Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  const head = { ':method': 'POST', ':path': path, 'content-type': 'application/json' };
  repliesOf(exchange, {
    type: 'request_headers',
    headers: new Map([...Object.entries(head), ...lower(headers)]),
    endOfStream: false,
  });
  const request = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...body }));
  const replies = repliesOf(exchange, { type: 'request_body', body: request, endOfStream: true });
  if (replies.every(({ type }) => type !== 'immediate_response')) {
    const answerHead = { ':status': String(status), 'content-type': 'application/json' };
    repliesOf(exchange, {
      type: 'response_headers',
      headers: new Map([...Object.entries(answerHead), ...lower(answerHeaders)]),
      endOfStream: false,
    });
    const answer = Buffer.from(recorded.answer ?? JSON.stringify(completion('Hi')));
    const places = [...new Set(cuts.map((cut) => cut % answer.length))].sort((one, other) => one - other);
    [...places, answer.length].forEach((end, index) => {
      const piece = answer.subarray(places[index - 1] ?? 0, end);
      repliesOf(exchange, { type: 'response_body', body: piece, endOfStream: end === answer.length });
    });
  }
  const times = { duration: 1, firstByte: null, firstToken: null };
  const summary = exchange.summary();
  const ended = { exchange, how: 'done', summary, times, cause: summary.errorCause } as never;
  recorder.observer(ended);
  const stored = store.get(1);
  if (stored === undefined) throw new Error('nothing was recorded');
  const detail = detailOf(stored);
  const pieces = (one: { readonly pieces: readonly object[] } | null | undefined) =>
    (one?.pieces ?? []).map((piece) => ('text' in piece ? piece.text : JSON.stringify(piece))).join('');
  const text = `${pieces(detail.file.chat_response)}\n${pieces(detail.file.client_response)}\n${JSON.stringify(detail)}`;
  expect(text).toContain('/v1/responses');
  return text;
}

const secrets = fc.stringMatching(/^[a-z]{4}[0-9]{2}[a-zA-Z0-9]{6,20}$/).map((text) => `mk${text}`);

it.each(Object.entries(places))('no credential is kept of %s, under any name, in any pieces', (_place, recordedOf) => {
  for (const name of names) expect(kept(recordedOf(name, 'mk7secret12345'), []), name).not.toContain('mk7secret12345');
  fc.assert(
    fc.property(fc.constantFrom(...names), secrets, fc.array(fc.nat(400), { maxLength: 4 }), (name, secret, cuts) => {
      const text = kept(recordedOf(name, secret), cuts);
      expect(text).not.toContain(secret);
      expect(text).not.toContain(btoa(`me:${secret}`));
    }),
    { numRuns: 60 },
  );
});

it('what stands where no credential does is kept, in any pieces', () => {
  const answer = JSON.stringify(completion('The token is "x", keys: ["CTRL"], a@b.example, https://host/a?page=2'));
  fc.assert(
    fc.property(fc.array(fc.nat(answer.length), { maxLength: 4 }), (cuts) => {
      expect(kept({ answer, headers: { authorization: 'Bearer short' } }, cuts)).toContain(answer);
    }),
  );
});
