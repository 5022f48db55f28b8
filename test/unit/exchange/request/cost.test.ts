import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../../src/exchange/request/json-text.ts';
import { prepareRequest } from '../../../../src/exchange/request/prepare-request.ts';
import { runSteps } from '../../../../src/exchange/steps.ts';
import { readConfig } from '../../../../src/settings/config.ts';
import { responses } from '../../../../src/translate/operations/responses.ts';
import { createCountedIds } from '../../../support/context.ts';
import { exchangeOptions } from '../../../support/exchange-options.ts';
import { createTestSettings } from '../../../support/settings.ts';

/** The shipped limit, and what a body may cost at it. `docs/decisions/0006-cpu-of-a-request.md` */
const maxValues = readConfig({}).MAX_REQUEST_VALUES;
const settings = createTestSettings({ profile: 'openai', limits: { maxValues } });

const steps = (body: Buffer) =>
  prepareRequest(
    { operation: responses, headers: new Map(), pieces: [body] },
    {
      settings,
      bodyLimits: { ...exchangeOptions().bodyLimits, maxRequestBytes: 64 * 1024 * 1024 },
      reserve: () => null,
      clock: { now: () => 1, newId: createCountedIds() },
    },
  );
const prepare = (body: Buffer) => runSteps(steps(body));
const each = (count: number, entry: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => entry(i)).join(',');
const schema = (text: string) =>
  `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":${text}}]}`;
const inMessage = (parts: string) => `{"model":"m","input":[{"role":"user","content":[${parts}]}]}`;

/** Bodies of `count` values each, as a schema, an input or a field can have them. */
const shapes: readonly (readonly [string, (count: number) => string])[] = [
  ['empty objects', (count) => schema(`{"enum":[${each(count / 2, () => '{}')}]}`)],
  ['objects of one key', (count) => schema(`{"enum":[${each(count / 2, () => '{"a":1}')}]}`)],
  ['objects of their own key', (count) => schema(`{"enum":[${each(count / 2, (i) => `{"k${i}":1}`)}]}`)],
  [
    'objects of ten own keys',
    (count) => schema(`{"enum":[${each(count / 11, (i) => `{${each(10, (j) => `"k${i}_${j}":1`)}}`)}]}`),
  ],
  ['keys of one schema', (count) => schema(`{${each(count, (i) => `"k${i}":1`)}}`)],
  ['long numbers', (count) => schema(`{"enum":[${each(count, () => '12345678901234567890')}]}`)],
  [
    'a long number among objects',
    (count) => schema(`{"enum":[12345678901234567890,${each(count / 2, (i) => `{"k${i}":1}`)}]}`),
  ],
  ['fields', (count) => `{"model":"m","input":"x",${each(count, (i) => `"k${i}":1`)}}`],
  ['wrong entries of include', (count) => `{"model":"m","input":"x","include":[${each(count, () => '1')}]}`],
  [
    'wrong parts of reasoning',
    (count) => `{"model":"m","input":[{"type":"reasoning","content":[${each(count, () => '1')}]}]}`,
  ],
  ['text parts', (count) => inMessage(each(count / 3, () => '{"type":"text","text":"x"}'))],
  ['files', (count) => inMessage(each(count / 4, () => '{"type":"input_file","filename":"a.txt","file_data":"eHg="}'))],
  [
    'tools that are left out',
    (count) => `{"model":"m","input":"x","tools":[${each(count / 2, () => '{"type":"web_search"}')}]}`,
  ],
];

describe('a request at the limit of values', () => {
  // What 8 MB of text cost is the measure, in the same run: a busy machine slows both.
  const text = Buffer.from(`{"model":"m","input":"${'lorem ipsum '.repeat(700_000)}"}`);
  const textCpu = leastCpu(() => prepare(text), 0);

  it.each(shapes)('costs no more than some megabytes of text: %s', (_name, bodyOf) => {
    const body = Buffer.from(bodyOf(maxValues - 200));
    expect(leastCpu(() => prepare(body), 8 * textCpu)).toBeLessThan(8 * textCpu);
  });

  it.each(shapes)('is refused above it, before it is parsed: %s', (_name, bodyOf) => {
    const body = Buffer.from(bodyOf(2 * maxValues));
    const refused = () => expect(() => prepare(body)).toThrow(expect.objectContaining({ status: 413 }));
    refused();
    expect(leastCpu(refused, textCpu)).toBeLessThan(textCpu);
  });
});

/** CPU microseconds of the best of up to three calls, refused ones included: one below the limit is enough. */
function leastCpu(work: () => unknown, limit: number): number {
  const once = () => {
    const before = process.cpuUsage();
    try {
      work();
    } catch {
      // a refusal costs what came before it
    }
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  return leastOf(3, once, limit);
}

/** The least of up to so many measurements, of which one below the limit is enough. */
function leastOf(times: number, measure: () => number, limit: number): number {
  let least = measure();
  for (let more = 1; more < times && least >= limit; more += 1) least = Math.min(least, measure());
  return least;
}

it('counts what stands outside strings, however long they are and whatever they hold (property)', () => {
  const piece = fc.constantFrom('"', '\\', ',', '[', '{', 'x'.repeat(63), 'é', '😀', '\n');
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), (texts) => {
      const bytes = Buffer.from(JSON.stringify(texts));
      const values = 2 + Math.max(texts.length - 1, 0);
      expect(runSteps(parseJson(bytes, 1, values))).toEqual(texts);
      expect(() => runSteps(parseJson(bytes, 1, values - 1))).toThrow(expect.objectContaining({ status: 413 }));
    }),
    { numRuns: 500 },
  );
});

describe('a body of the largest size', () => {
  const MiB = 1024 * 1024;
  const image = (size: number) => `{"type":"input_image","image_url":"data:image/png;base64,${'A'.repeat(size)}"}`;
  const text = (size: number) => `{"type":"input_text","text":"${'word '.repeat(size / 5)}"}`;

  it.each([
    ['images', Buffer.from(inMessage(each(6, () => image(10 * MiB))))],
    ['text', Buffer.from(inMessage(each(6, () => text(9 * MiB))))],
  ])('of %s is translated in steps, none of which takes half of it all', (_name, body) => {
    expect(body.length).toBeGreaterThan(50 * MiB);
    // In one go it would be all. The least of up to five: a collection may fall into any step.
    const largestShare = () => {
      const times = timesOf(steps(body));
      expect(times.length).toBeGreaterThan(6);
      return Math.max(...times) / times.reduce((sum, time) => sum + time);
    };
    expect(leastOf(5, largestShare, 1 / 2)).toBeLessThan(1 / 2);
  });

  /** CPU time of each step, microseconds. */
  function timesOf(work: Iterator<void>): number[] {
    const times: number[] = [];
    for (;;) {
      const start = process.cpuUsage();
      const { done } = work.next();
      const { user, system } = process.cpuUsage(start);
      times.push(user + system);
      if (done) return times;
    }
  }
});
