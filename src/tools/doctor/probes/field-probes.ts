import { Buffer } from 'node:buffer';
import type { ReadAnswer } from '../chat-answer.ts';
import { buildUser, getWeather, weatherQuestion } from '../chat-body.ts';
import { type ChatRow, isObjectText, judgeCalls, judgeSilence, quoteBeginning } from '../chat-probe.ts';
import { accepted, type Finding, failed, hasResult, ignored, lacking, works } from '../findings.ts';

const sayHello = [buildUser('Say hello.')];
const askCity = [buildUser('Name one city and the number of people who live there. Answer in JSON.')];

const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' }, population: { type: 'integer' } },
  required: ['city', 'population'],
  additionalProperties: false,
};
const cityFormat = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: citySchema } };

const redPng =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItw/dMZxQi+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywLQTQDx3uY1cQAAAABJRU5ErkJggg==';

/** A WAV file of a tenth of a second of silence: 8 kHz, 8 bits, one channel. */
const wavHeader = Buffer.from('UklGRkQDAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YSADAAA=', 'base64');
const silence = Buffer.concat([wavHeader, Buffer.alloc(800, 128)]).toString('base64');

const refusedBefore = 'The service refuses requests with it.';

export const fieldProbes: readonly ChatRow[] = [
  {
    name: 'json_schema',
    asks: 'an answer by a strict JSON schema',
    sends: { messages: askCity, response_format: cityFormat },
    judge: (read) => {
      const finding = judgeSaid(read, isCity(read.said));
      const isCut = read.finish === 'length' && read.said.trimStart().startsWith('{');
      return finding.result === 'ignored' && isCut ? accepted('JSON that was cut: raise --max-tokens') : finding;
    },
    means: {
      ignored: 'The server takes schemas but does not keep to them: the schema goes into the prompt instead.',
      failed: 'The schema goes into the prompt instead, and strict ones are refused.',
    },
  },
  {
    name: 'json_object',
    asks: 'an answer that is any JSON',
    sends: ({ findings }) =>
      hasResult(findings, 'json_schema', ...lacking)
        ? { messages: askCity, response_format: { type: 'json_object' } }
        : 'schemas are kept',
    judge: (read) => judgeSaid(read, isObjectText(read.said)),
    means: { works: 'The server makes the answer JSON, and the schema goes into the prompt.' },
  },
  {
    name: 'schema_with_tools',
    asks: 'a schema and tools at once',
    sends: ({ findings }) =>
      hasResult(findings, 'json_schema', 'works') && hasResult(findings, 'tool_call', 'works')
        ? { messages: [buildUser(weatherQuestion)], tools: [getWeather], response_format: cityFormat }
        : 'one of the two does not work alone',
    judge: (read) => judgeCalls(read, () => works('a call')),
    means: {
      lacking:
        'Where tools are offered, the schema goes into the prompt instead: nothing guarantees that the answer keeps to it (codex exec --output-schema).',
    },
  },
  {
    name: 'image',
    asks: 'an image',
    sends: buildQuestion('Which colour is this picture? One word.', { type: 'image_url', image_url: { url: redPng } }),
    judge: (read) => judgeSaid(read, /\b(?:red|crimson|scarlet)\b/i.test(read.said), 'the picture is red, the answer '),
    means: {
      ignored:
        'Either the model cannot see, or the server silently leaves images out: a text replaces them, and x-responses-dropped lists them.',
      failed:
        'The model takes no images: a text replaces each (a screenshot, Codex’s view_image), x-responses-dropped lists it, and the catalog tells Codex to send no images.',
    },
  },
  {
    name: 'audio',
    asks: 'audio',
    sends: buildQuestion('What do you hear?', { type: 'input_audio', input_audio: { data: silence, format: 'wav' } }),
    means: { failed: 'The service refuses requests with audio.' },
  },
  {
    name: 'logprobs',
    asks: 'logprobs',
    tokens: 'few',
    sends: { messages: sayHello, logprobs: true, top_logprobs: 2 },
    judge: ({ logprobs }) => (logprobs > 0 ? works(`${logprobs} tokens`) : ignored('none in the answer')),
    means: { lacking: 'The service refuses requests for them.' },
  },
  {
    name: 'stop',
    asks: 'stop',
    sends: { messages: [buildUser('Repeat exactly: alpha bravo charlie delta')], stop: ['charlie'] },
    judge: ({ said: text }) => {
      if (text.includes('charlie')) return ignored(quoteBeginning(text));
      return (text.includes('bravo') ? works : accepted)(quoteBeginning(text));
    },
    means: { lacking: refusedBefore },
  },
  ...['presence_penalty', 'frequency_penalty'].map(
    (name): ChatRow => ({
      name,
      asks: name,
      sends: { messages: sayHello, [name]: 0.5 },
      means: { failed: refusedBefore },
    }),
  ),
  {
    name: 'unknown_field',
    asks: 'an unknown field',
    sends: { messages: sayHello, x_unknown_field: true },
    means: { failed: 'Strict: what a client adds for other servers fails here (UNKNOWN_FIELDS).' },
  },
  {
    name: 'user',
    asks: 'a label for the user',
    sends: ({ findings }) =>
      hasResult(findings, 'unknown_field', ...failed)
        ? { messages: sayHello, user: 'doctor' }
        : 'fields that it does not know are taken',
    means: { failed: 'The label is dropped and listed in x-responses-dropped.' },
  },
];

function buildQuestion(text: string, part: object) {
  return { messages: [buildUser([{ type: 'text', text }, part])] };
}

/** Judges an answer by its text, which is quoted: after `introduction`, if it is wrong. */
function judgeSaid(read: ReadAnswer, isRight: boolean, introduction = ''): Finding {
  const quoted = quoteBeginning(read.said);
  return isRight ? works(quoted) : (judgeSilence(read) ?? ignored(`${introduction}${quoted}`));
}

function isCity(text: string): boolean {
  if (!isObjectText(text)) return false;
  const value = JSON.parse(text) as { city?: unknown; population?: unknown };
  return typeof value.city === 'string' && Number.isInteger(value.population) && Object.keys(value).length === 2;
}
