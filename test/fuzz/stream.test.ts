import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { SseDecoder, SseLimitError } from '../../src/formats/sse/sse-decoder.ts';
import { chunks, contexts, plainSettings } from '../support/chat-chunks.ts';
import { codePoint } from '../support/code-point.ts';
import { type ContextSettings, createTestContext, emptyResponse, minimalEcho } from '../support/context.ts';
import { fuzzSeconds, fuzzTimeout, tries } from '../support/fuzz-options.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/published-schema.ts';
import { runStream, withoutKeepalives } from '../support/run-stream.ts';
import { readWithSdk } from '../support/sdk-accumulator.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';

const options = tries(100);
const timeout = fuzzTimeout;

const runs: Record<string, number> = {};
const count = (what: string) => {
  runs[what] = (runs[what] ?? 0) + 1;
};
afterAll(() => {
  if (fuzzSeconds > 0) console.log('runs', runs);
});

const sse = (values: readonly unknown[]) => values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('');

/** All that must hold of any stream, whatever the upstream sent. */
function check(bytes: Uint8Array, settings: ContextSettings, size: number): string {
  const whole = runStream([bytes], createTestContext(settings));
  const inPieces = runStream(inPiecesOf(size, bytes), createTestContext(settings));
  expect(withoutKeepalives(inPieces.bytes)).toBe(withoutKeepalives(whole.bytes));
  expect(inPieces.error?.toJson()).toBe(whole.error?.toJson());
  // An error that comes first is a status; where the headers have been sent it is a stream too.
  const text = runStream([bytes], createTestContext(settings), { committed: whole.error !== null }).bytes.toString();
  expect(faultsOfStream(text)).toEqual([]);
  if (settings.reasoningEvents !== 'reasoning_text') {
    const events = eventsOf(text);
    expect(events.flatMap((event) => faultsOfEvent(event))).toEqual([]);
    expect(faultsOfResponse(events.at(-1)?.['response'])).toEqual([]);
  }
  return text;
}

it('whatever chunks come, in whatever order, the stream keeps every rule and ends once', { timeout }, () => {
  fc.assert(
    fc.property(
      fc.array(chunks, { maxLength: 12 }),
      fc.constantFrom('', 'data: [DONE]\n\n'),
      contexts,
      fc.integer({ min: 1, max: 50 }),
      (values, end, settings, size) => {
        count('chunks');
        check(Buffer.from(sse(values) + end), settings, size);
      },
    ),
    options,
  );
});

it('whatever the SDK folds of it, it ends where the terminal event does', { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(chunks, { maxLength: 12 }), contexts, async (values, settings) => {
      count('sdk');
      const upstream = Buffer.from(`${sse(values)}data: [DONE]\n\n`);
      const { bytes: stream } = runStream([upstream], createTestContext(settings), { committed: true });
      const last = eventsOf(stream.toString('utf8')).at(-1)?.['response'] as Record<string, unknown>;
      const reading = await readWithSdk(stream);
      if (reading.type === 'response') expect(reading.response).toEqual(last);
      else if (settings.reasoningEvents === 'reasoning' && reading.message.startsWith('Unhandled')) return;
      else expect(reading.message).toBe((last['error'] as { message: string } | null)?.message);
    }),
    options,
  );
});

it('a field that no one knows changes nothing, wherever it is', { timeout }, () => {
  const models = fc.constantFrom({}, { model: 'test-model' });
  fc.assert(
    fc.property(fc.array(chunks, { maxLength: 12 }), models, contexts, (values, model, settings) => {
      count('unknown');
      const plain = values.map((value) => (isObject(value) ? { ...value, ...model } : value));
      const marked = plain.map((value) => (isObject(value) ? withUnknown(value) : value));
      const read = (list: readonly unknown[]) =>
        runStream([Buffer.from(sse(list))], createTestContext(settings), { committed: true }).bytes.toString();
      expect(read(marked)).toBe(read(plain));
    }),
    options,
  );
});

/** The property below once failed for a part of the upstream's own without any text. */
const partAlone = { choices: [{ index: 0, delta: { content: [{ type: 'reference' }] } }] };

it('where extensions are passed, only they are added to a stream', { timeout }, () => {
  const extension = fc.record({
    name: fc.constantFrom('acme:trace', 'acme:note'),
    data: fc.jsonValue({ maxDepth: 2 }),
  });
  const message = fc.oneof(
    { weight: 4, arbitrary: chunks.map((value) => ({ text: sse([value]), value })) },
    {
      weight: 1,
      arbitrary: extension.map(({ name, data }) => ({ text: `event: ${name}\n${sse([data])}`, value: null })),
    },
  );
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      contexts,
      fc.integer({ min: 1, max: 50 }),
      (list, settings, size) => {
        count('extensions');
        const passing = { ...settings, profileFlags: { ...settings.profileFlags, passExtensions: true } };
        const marked = list.map(({ text, value }) => (isObject(value) ? sse([withUnknown(value)]) : text)).join('');
        const upstream = Buffer.from(`${marked}data: [DONE]\n\n`);
        const read = (pieces: Iterable<Uint8Array>, context: ContextSettings, committed = true) =>
          withoutKeepalives(runStream(pieces, createTestContext(context), { committed }).bytes);
        const text = read([upstream], passing);
        expect(faultsOfStream(text, { extensions: true })).toEqual([]);
        expect(read(inPiecesOf(size, upstream), passing, false)).toBe(read([upstream], passing, false));
        // A part of the upstream's own opens a message, and what follows has other places.
        const hasPart = marked.includes('"type":"reference"');
        if (!hasPart) expect(withoutExtensions(text)).toEqual(withoutExtensions(read([upstream], settings)));
      },
    ),
    { ...options, examples: [[[{ text: sse([partAlone]), value: partAlone }], plainSettings, 1]] },
  );
});

/** The events that are not an upstream's own, without their numbers and what is added to the Response. */
function withoutExtensions(stream: string): unknown[] {
  return eventsOf(stream)
    .filter(({ type }) => !type.includes(':'))
    .map(({ sequence_number: _, response, ...event }) =>
      isObject(response) ? { ...event, response: ownFields.map((name) => ownOf(name, response[name])) } : event,
    );
}

/** Of `usage` the three counts: the upstream's own keys stand beside them, and in its details. */
function ownOf(name: string, value: unknown): unknown {
  return name === 'usage' && isObject(value)
    ? [value['input_tokens'], value['output_tokens'], value['total_tokens']]
    : value;
}

const ownFields = Object.keys(emptyResponse(minimalEcho));

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** With a vendor's field in the chunk, its choices and their deltas. */
function withUnknown(chunk: Record<string, unknown>): Record<string, unknown> {
  const { choices } = chunk;
  const marked = (value: unknown) => (isObject(value) ? { ...value, nvext: { a: 1 } } : value);
  return {
    ...chunk,
    nvext: { a: 1 },
    ...(Array.isArray(choices) && {
      choices: choices.map((choice) =>
        isObject(choice)
          ? { ...choice, nvext: 1, ...('delta' in choice && { delta: marked(choice['delta']) }) }
          : choice,
      ),
    }),
  };
}

it('whatever bytes come, the stream keeps every rule and ends once', { timeout }, () => {
  const line = fc.oneof(
    fc.constantFrom(
      'data: ',
      'data:',
      'event: error',
      ': c',
      '',
      '\r',
      '{',
      '{"choices":[]}',
      'data: [DONE]',
      '\ufeff',
    ),
    chunks.map((value) => `data: ${JSON.stringify(value)}`),
    fc.string({ unit: codePoint, maxLength: 20 }),
  );
  const end = fc.constantFrom('\n', '\r\n', '\r', '\n\n');
  const body = fc.array(fc.tuple(line, end), { maxLength: 20 }).map((lines) => Buffer.from(lines.flat().join('')));
  const raw = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.oneof(body, raw), contexts, fc.integer({ min: 1, max: 50 }), (bytes, settings, size) => {
      count('bytes');
      check(bytes, settings, size);
    }),
    options,
  );
});

it('the decoder never holds more than the limit', { timeout }, () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 }),
      fc.integer({ min: 8, max: 64 }),
      (pieces, maxEventBytes) => {
        count('limits');
        const decoder = new SseDecoder({ maxEventBytes });
        try {
          for (const piece of pieces) {
            decoder.push(piece);
            expect(decoder.pending()).toBeLessThanOrEqual(maxEventBytes);
          }
          decoder.finish();
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SseLimitError);
        }
        expect(decoder.pending()).toBeLessThanOrEqual(maxEventBytes);
      },
    ),
    options,
  );
});

it('whatever a JSON answer holds, it becomes a response or an error', { timeout }, () => {
  fc.assert(
    fc.property(chunks, contexts, (value, settings) => {
      count('json');
      try {
        const { response } = translateCompletion(value, createTestContext(settings));
        if (settings.reasoningEvents !== 'reasoning_text') expect(faultsOfResponse(response)).toEqual([]);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(ApiError);
      }
    }),
    options,
  );
});
