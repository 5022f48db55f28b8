import { parseOptions, UsageError } from '../cli/terminal.ts';

export type DoctorOptions = NonNullable<ReturnType<typeof parseDoctorOptions>>;

const options = {
  model: { type: 'string', short: 'm', default: '' },
  key: { type: 'string' },
  'key-env': { type: 'string', default: 'UPSTREAM_API_KEY' },
  save: { type: 'string', short: 's' },
  json: { type: 'boolean', default: false },
  'max-requests': { type: 'string', default: '80' },
  'max-tokens': { type: 'string', default: '512' },
  'max-total-tokens': { type: 'string', default: '60000' },
  'max-time': { type: 'string', default: '900' },
  timeout: { type: 'string', default: '120' },
  'keep-going': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Parses the arguments of `doctor`; null for --help. A variable of `env` may hold the key. Throws `UsageError`. */
export function parseDoctorOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const { values, positionals } = parseOptions(args, options);
  if (values.help) return null;
  const [url, ...more] = positionals;
  if (url === undefined) throw new UsageError('The URL of the server is missing.');
  if (more.length > 0) throw new UsageError(`Only one URL can be probed at a time; also given: ${more.join(' ')}.`);
  const key = values.key ?? env[values['key-env']] ?? '';
  if (/[^\x21-\x7e]/.test(key))
    throw new UsageError('The key contains characters that cannot be part of a key (white space?).');
  return {
    chatUrl: parseChatUrl(url),
    key: key === '' ? null : key,
    /** The model's name; empty if the command line has none, and the server is asked for its list. */
    model: values.model,
    json: values.json,
    /** The path of the profiles file to write; null for none. */
    save: values.save ?? null,
    limits: {
      requests: parseCount(values, 'max-requests'),
      tokensPerRequest: parseCount(values, 'max-tokens'),
      tokens: parseCount(values, 'max-total-tokens'),
      seconds: parseCount(values, 'max-time'),
    },
    timeout: parseCount(values, 'timeout'),
    /** True to go on after a timeout without asking the user. */
    keepGoing: values['keep-going'],
  };
}

/** Reads the address of a Chat API: a base URL as SDKs take it, a bare host, or the API's own URL. */
function parseChatUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new UsageError(`'${text}' is not a URL: give http://HOST:PORT/v1 or https://….`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('A name or password in the URL is not sent: give the key with --key or in a variable.');
  const path = url.pathname.replace(/\/+$/, '');
  if (!path.endsWith('/chat/completions')) url.pathname = `${path === '' ? '/v1' : path}/chat/completions`;
  else url.pathname = path;
  url.hash = '';
  return url;
}

type CountName = 'max-requests' | 'max-tokens' | 'max-total-tokens' | 'max-time' | 'timeout';

function parseCount(values: Readonly<Record<CountName, string>>, name: CountName): number {
  const count = Number(values[name]);
  if (!/^\d{1,7}$/.test(values[name]) || count < 1)
    throw new UsageError(`--${name} must be a whole number of at least 1 (got '${values[name]}').`);
  return count;
}

export const helpText = `Usage: npm run doctor -- URL --model NAME [options]           (in a clone)
       responses-extproc doctor URL --model NAME [options]    (where the package is installed; in the image: doctor URL …)

Asks a Chat Completions server the way agents use it: text and streams, tool calls and the turns after them, roles, JSON
schemas, images, reasoning, limits and errors. Prints what works, the profile (UPSTREAM_PROFILE) that fits, the flags in
which the server differs from it, and what matters for Codex.

URL is the base URL as SDKs take it (http://127.0.0.1:8080/v1), or that of the Chat API itself (…/chat/completions). The
server needs no part of this product in front of it; nothing else has to run.

  -m, --model NAME          the model to ask, as the server calls it; without it the one that the server lists, if it
                            lists one
      --key KEY             API key, sent as the bearer token to this host alone. Other users of the machine can read
                            command lines: a variable is better
      --key-env VARIABLE    variable that holds the key, when there is no --key (default UPSTREAM_API_KEY)
  -s, --save FILE           write the profile to a new file, for UPSTREAM_PROFILES_FILE
      --json                print one JSON object: findings, profile, warnings, spending
      --max-requests N      requests in all (default 80; a whole run needs fewer)
      --max-tokens N        output tokens of one request that must show something (default 512: models that reason at
                            length need more); requests of which only the status counts ask for 16
      --max-total-tokens N  tokens in all, in and out (default 60000)
      --max-time SECONDS    after this no probe begins (default 900)
      --timeout SECONDS     for one request, and for reading its answer (default 120); a connection and the list of models
                           have 5
      --keep-going          go on after a request that timed out. Without it a terminal is asked, and a script stops
  -h, --help                show this text

First it asks for the list of models, and waits while the server loads: while it says so, or for --timeout while it
takes connections and is silent. Before the first probe it says what it will spend at most. It stops at once when the server cannot be reached, redirects,
or answers 401, 402, 403 or 429. Ctrl-C ends it with what was found so far; progress goes to standard error.

Text has colours on a terminal, and none in a pipe or with NO_COLOR=1; FORCE_COLOR=1 has them anyway.

Results:
  works       the effect was seen in the answer
  accepted    an ordinary answer came; whether there was an effect cannot be seen from outside
  ignored     an answer came, and the effect was missing
  refused     the server answered with an error
  broken      a 200 without a valid answer
  not tested  the question did not arise, a limit was reached, the server was in trouble, or the model did not play along

Exit codes:
  0  an agent can work with this server (with the profile that is named)
  1  something that an agent needs does not work: text, streams, tool calls, or the turn after one
  2  wrong usage; where --model is missing, the server was asked for its models, and nothing else was sent
  3  the run ended before that was clear: unreachable, no Chat API, key refused, rate limit, a limit of the options
  4  the server has no such model; those that it has are listed, the nearest first

Examples:
  npm run doctor -- http://127.0.0.1:8080 --model qwen3-8b --save profiles.yaml
  UPSTREAM_API_KEY=… npm run -s doctor -- https://api.example.com/v1 -m big-model --json
`;
