import { Buffer } from 'node:buffer';
import { chat, getWeather, user, weatherQuestion } from '../chat-body.ts';
import { acceptance, isObject, judgeCalls, judged, quote, sayingNothing } from '../judge.ts';
import { found, type ProbeRow } from '../probe-types.ts';

const askCity = [user('Name one city and the number of people who live there. Answer in JSON.')];

const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' }, population: { type: 'integer' } },
  required: ['city', 'population'],
  additionalProperties: false,
};
const cityFormat = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: citySchema } };

/** 64 × 64 pixels, all of them red. */
const redPng =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItw/dMZxQi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywLQTQDx3uY1cQAAAABJRU5ErkJggg==';

export const fieldProbes: readonly ProbeRow[] = [
  {
    name: 'json_schema',
    asks: 'an answer by a strict JSON schema',
    tokens: 'many',
    request: (known) => [chat(known, 'many', { messages: askCity, response_format: cityFormat })],
    judge: ([answer]) =>
      judged(answer, (read) => {
        if (fitsCity(read.said)) return { result: 'works', detail: quote(read.said) };
        return (
          sayingNothing(read) ??
          (read.finish === 'length' && read.said.trimStart().startsWith('{')
            ? { result: 'accepted', detail: 'JSON that was cut: raise --max-tokens' }
            : { result: 'ignored', detail: quote(read.said) })
        );
      }),
    means: {
      ignored: 'The server takes schemas but does not keep to them: the schema goes into the prompt instead.',
      refused: 'The schema goes into the prompt instead, and strict ones are refused.',
    },
  },
  {
    name: 'json_object',
    asks: 'an answer that is any JSON',
    tokens: 'many',
    request: (known) =>
      found(known.findings, 'json_schema', 'refused', 'ignored', 'broken')
        ? [chat(known, 'many', { messages: askCity, response_format: { type: 'json_object' } })]
        : 'schemas are kept',
    judge: ([answer]) =>
      judged(answer, (read) =>
        isObject(read.said)
          ? { result: 'works', detail: quote(read.said) }
          : (sayingNothing(read) ?? { result: 'ignored', detail: quote(read.said) }),
      ),
    means: { works: 'The server makes the answer JSON, and the schema goes into the prompt.' },
  },
  {
    name: 'schema_with_tools',
    asks: 'a schema and tools at once',
    tokens: 'many',
    request: (known) =>
      found(known.findings, 'json_schema', 'works') && found(known.findings, 'tool_call', 'works')
        ? [chat(known, 'many', { messages: [user(weatherQuestion)], tools: [getWeather], response_format: cityFormat })]
        : 'one of the two does not work alone',
    judge: ([answer]) => judged(answer, (read) => judgeCalls(read, () => ({ result: 'works', detail: 'a call' }))),
    means: {
      ignored:
        'With a schema no tool is called: agents with an output schema (codex exec --output-schema) cannot work.',
      refused: 'Agents with an output schema (codex exec --output-schema) cannot work.',
    },
  },
  {
    name: 'image',
    asks: 'an image',
    tokens: 'many',
    request: (known) => [
      chat(known, 'many', {
        messages: [
          user([
            { type: 'text', text: 'Which colour is this picture? One word.' },
            { type: 'image_url', image_url: { url: redPng } },
          ]),
        ],
      }),
    ],
    judge: ([answer]) =>
      judged(answer, (read) =>
        /\b(?:red|crimson|scarlet)\b/i.test(read.said)
          ? { result: 'works', detail: quote(read.said) }
          : (sayingNothing(read) ?? {
              result: 'ignored',
              detail: `the picture is red, the answer ${quote(read.said)}`,
            }),
      ),
    means: {
      ignored:
        'Either the model cannot see, or the server silently leaves images out: a text replaces them, and x-responses-dropped names them.',
      refused: 'A text replaces each image (a screenshot, Codex’s view_image), and x-responses-dropped names it.',
    },
  },
  {
    name: 'audio',
    asks: 'audio',
    tokens: 'few',
    request: (known) => [
      chat(known, 'few', {
        messages: [
          user([
            { type: 'text', text: 'What do you hear?' },
            { type: 'input_audio', input_audio: { data: silence(), format: 'wav' } },
          ]),
        ],
      }),
    ],
    judge: acceptance,
    means: { refused: 'Requests with audio are refused before they are sent.' },
  },
  {
    name: 'logprobs',
    asks: 'logprobs',
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages: [user('Say hello.')], logprobs: true, top_logprobs: 2 })],
    judge: ([answer]) =>
      judged(answer, ({ logprobs }) =>
        logprobs > 0
          ? { result: 'works', detail: `${logprobs} tokens` }
          : { result: 'ignored', detail: 'none in the answer' },
      ),
    means: {
      ignored: 'Requests for them are refused before they are sent.',
      refused: 'Requests for them are refused before they are sent.',
    },
  },
  {
    name: 'stop',
    asks: 'stop',
    tokens: 'many',
    request: (known) => [
      chat(known, 'many', { messages: [user('Repeat exactly: alpha bravo charlie delta')], stop: ['charlie'] }),
    ],
    judge: ([answer]) =>
      judged(answer, ({ said: text }) => {
        if (text.includes('charlie')) return { result: 'ignored', detail: quote(text) };
        return { result: text.includes('bravo') ? 'works' : 'accepted', detail: quote(text) };
      }),
    means: {
      ignored: 'Requests with it are refused before they are sent.',
      refused: 'Requests with it are refused before they are sent.',
    },
  },
  penalty('presence_penalty'),
  penalty('frequency_penalty'),
  {
    name: 'unknown_field',
    asks: 'an unknown field',
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages: [user('Say hello.')], x_unknown_field: true })],
    judge: acceptance,
    means: { refused: 'Strict: what a client adds for other servers fails here (UNKNOWN_FIELDS).' },
  },
];

function penalty(name: 'presence_penalty' | 'frequency_penalty'): ProbeRow {
  return {
    name,
    asks: name,
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages: [user('Say hello.')], [name]: 0.5 })],
    judge: acceptance,
    means: { refused: 'Requests with it are refused before they are sent.' },
  };
}

function fitsCity(text: string): boolean {
  if (!isObject(text)) return false;
  const value = JSON.parse(text) as { city?: unknown; population?: unknown };
  return typeof value.city === 'string' && Number.isInteger(value.population) && Object.keys(value).length === 2;
}

/** A WAV file of a tenth of a second: 8 kHz, 8 bits, one channel. */
function silence(): string {
  const samples = 800;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 128)]).toString('base64');
}
