import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { doneEvent, encodeSseEvents } from '../../src/filter/wire/sse/encode-events.ts';
import { blockOf, type GoldenCase, goldenFolder, readGoldenCases } from '../support/golden.ts';
import { streamContextOf } from '../support/golden-context.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/published-schema.ts';
import { runStream, type StreamRun, withoutKeepalives } from '../support/run-stream.ts';
import { readWithSdk, type SdkReading } from '../support/sdk-accumulator.ts';
import { everyCutOfEvents } from '../support/split.ts';
import { eventLines, eventsOf } from '../support/stream-lines.ts';
import { upstreamOf } from '../support/upstream-notation.ts';

/**
 * Each case is what the upstream sends (`chunks upstream`, `sse upstream` or `sse upstream escaped`, see
 * `test/support/upstream-notation.ts`; or `json upstream json`), its request (`json request`, with its `json settings`) or what is special about it
 * (`json context`), the client's events as lines (`events client`), and sometimes the terminal event's whole response.
 * An upstream whose first event is an error has the HTTP error too (`json client error`); its `events client` are what the
 * client gets where the body mode has sent the headers before.
 */
const blankLine = Buffer.from('\n\n');
const files = readdirSync(goldenFolder).filter((name) => /^stream-.*\.md$/.test(name));

describe.each(files)('%s', (file) => {
  describe.each(readGoldenCases(new URL(file, goldenFolder)))('$where $title', testCase);
});

function testCase(golden: GoldenCase): void {
  const isJson = blockOf(golden, 'upstream json') !== null;
  const context = () => streamContextOf(golden);
  const { reasoningEvents: carrier, profile } = context();
  const rules = { extensions: profile.passExtensions };
  const { bytes, error } = whole(golden, context);
  // Where the upstream's first event is an error, the events are those of a client whose headers have been sent.
  const stream = error === null ? bytes : runStream([upstreamOf(golden)], context(), { committed: true }).bytes;
  const text = stream.toString('utf8');
  const events = eventsOf(text);
  const last = events.at(-1) as { response?: Record<string, unknown> } | undefined;

  it('gives the events written beside it', () => {
    expect(eventLines(text).join('\n')).toBe(blockOf(golden, 'client'));
    const response = blockOf(golden, 'client response');
    if (response !== null) expect(last?.response).toEqual(JSON.parse(response));
  });

  it('is an HTTP error exactly where one is written beside it', () => {
    const status = blockOf(golden, 'client error');
    expect(error && { status: error.status, ...error.toObject() }).toEqual(status && JSON.parse(status));
  });

  it('keeps every rule of a Responses stream', () => {
    expect(faultsOfStream(text, rules)).toEqual([]);
  });

  if (!isJson)
    it('gives the same bytes however the upstream is cut', () => {
      const expected = withoutKeepalives(bytes);
      const same = (cut: Buffer) => cut.equals(bytes) || withoutKeepalives(cut) === expected;
      let cuts = 0;
      for (const { how, pieces } of everyCutOfEvents(upstreamOf(golden))) {
        cuts += 1;
        const run = runStream(pieces, context());
        if (!same(run.bytes)) expect.fail(`other bytes when ${how}`);
        if (run.error?.toJson() !== error?.toJson()) expect.fail(`another error when ${how}`);
        // Some clients' parsers lose an event that arrives in two pieces.
        if (!run.writes.every((write) => write.subarray(-2).equals(blankLine))) expect.fail(`a cut event when ${how}`);
      }
      expect(cuts).toBeGreaterThan(0);
    });

  if (!isJson)
    it('ends by the rules wherever the upstream stops, and no call is done that was not whole', () => {
      const whole = callsDone(text);
      let stops = 0;
      for (const start of everyStart(upstreamOf(golden)))
        for (const [how, end] of Object.entries(badEnds)) {
          stops += 1;
          const cut = runStream([start, Buffer.from(end)], context(), { committed: true }).bytes.toString('utf8');
          const where = `after ${start.length} bytes, with ${how}`;
          const faults = faultsOfStream(cut, rules);
          if (faults.length > 0) expect.fail(`${where}: ${faults.join('; ')}`);
          for (const [id, call] of callsDone(cut))
            if (call !== whole.get(id) && !mayBeAll[how]?.test(call))
              expect.fail(`${where}, done as ${call}, and in full as ${whole.get(id)}`);
        }
      expect(stops).toBeGreaterThan(0);
    });

  it('reads in the OpenAI SDK as its terminal event says', async () => {
    const known = withoutExtensions(text);
    // The reason why a profile has to ask for them.
    if (known.length < stream.length) expect((await readWithSdk(stream)).type).toBe('thrown');
    const reading = await readWithSdk(known);
    expect(reading).toEqual(sdkReadingOf(last?.response, carrier));
  });

  if (carrier !== 'reasoning_text')
    it('is valid against the published schema, event by event', () => {
      expect(events.flatMap((event) => faultsOfEvent(event))).toEqual([]);
      expect(faultsOfResponse(last?.response)).toEqual([]);
    });
}

/** How a stream may end that does not go on. */
const badEnds = {
  'the end of its bytes': '',
  'an error': 'data: {"error":{"message":"Out of memory.","code":500}}\n\n',
  'the finish reason “error”': 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}\n\ndata: [DONE]\n\n',
  '[DONE]': 'data: [DONE]\n\n',
  'the finish reason “tool_calls”':
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
};

/**
 * Calls that nobody can tell from whole ones where nothing says that the answer goes on: those without arguments, and with the
 * finish reason also what ends in a brace, or is no object (`x`, a custom tool's own input).
 */
const mayBeAll: Partial<Record<string, RegExp>> = {
  '[DONE]': /"arguments":"?\{\}/,
  'the finish reason “tool_calls”': /"arguments":"?\{\}|\}"\}$|:"x?"\}$/,
};

/** What comes before each of an upstream's blank lines but the last, that line included. */
function* everyStart(bytes: Buffer): Generator<Buffer> {
  yield Buffer.alloc(0);
  for (let at = bytes.indexOf('\n\n'); at >= 0; at = bytes.indexOf('\n\n', at + 2)) yield bytes.subarray(0, at + 2);
}

/** The calls that were done as completed, by id. */
function callsDone(stream: string): ReadonlyMap<unknown, string> {
  const items = eventsOf(stream).flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []));
  const calls = (items as Record<string, unknown>[]).filter(
    ({ type, status }) => String(type).endsWith('_call') && status === 'completed',
  );
  return new Map(calls.map((call) => [call['id'], JSON.stringify(call)]));
}

function whole(golden: GoldenCase, context: () => ResponseContext): Pick<StreamRun, 'bytes' | 'error'> {
  const json = blockOf(golden, 'upstream json');
  if (json === null) return runStream([upstreamOf(golden)], context());
  const { events } = translateCompletion(JSON.parse(json), { ...context(), stream: true });
  return { bytes: Buffer.concat([encodeSseEvents(events), doneEvent]), error: null };
}

/** Without the events of a provider's own, which the SDK does not know. */
function withoutExtensions(stream: string): Buffer {
  return Buffer.from(stream.replaceAll(/^event: [^:\n]+:.*\ndata: .*\n\n/gm, ''));
}

/** The SDK throws at an `error` event, with its message, and at the specification's `response.reasoning.*` (D2). */
function sdkReadingOf(response: Record<string, unknown> | undefined, carrier: string): SdkReading {
  if (carrier === 'reasoning') return { type: 'thrown', message: 'Unhandled response stream event: unknown' };
  const error = response?.['error'] as { message: string } | null | undefined;
  if (error != null) return { type: 'thrown', message: error.message };
  return { type: 'response', response: response ?? {} };
}
