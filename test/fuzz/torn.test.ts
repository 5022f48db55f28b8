import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestContext } from '../support/context.ts';
import { fuzzSeconds, fuzzTimeout, tries } from '../support/fuzz-options.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { runStream } from '../support/run-stream.ts';
import { eventsOf } from '../support/stream-lines.ts';

const options = tries(1000);
const timeout = fuzzTimeout;

const counts = { tears: 0, failed: 0, completed: 0 };
afterAll(() => {
  if (fuzzSeconds > 0) console.log('torn', counts);
});

const folder = new URL('../recordings/', import.meta.url);
const streams = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.sse'))
  .sort()
  .map((name) => ({ name, lines: readFileSync(new URL(name, folder), 'latin1').split('\n') }));

interface Ending {
  readonly status: string;
  readonly output: readonly { type: string }[];
}

function endingOf(lines: readonly string[]): Ending {
  const upstream = Buffer.from(lines.join('\n'), 'latin1');
  const text = runStream([upstream], createTestContext({ toolNames: [] }), { committed: true }).bytes.toString();
  expect(faultsOfStream(text)).toEqual([]);
  const { status, output } = (eventsOf(text).at(-1) as unknown as { response: Ending }).response;
  return { status, output };
}

const whole = streams.map((stream) => ({ ...stream, ...endingOf(stream.lines) }));
const answers = whole.filter(({ status }) => status !== 'failed');

/** What may be left of a line without any sign that it was torn: an event of nothing, which the standard lets one send. */
const nothingLeft = new Set(['data', 'data:', 'data: ']);

/** The lines from which on the finish reason is known. */
const finishAt = ({ lines }: { lines: readonly string[] }) =>
  lines.findIndex((line) => /"finish_reason": ?"/.test(line));

describe('a recorded stream of which a line is torn', () => {
  it('is judged by recordings of every server', () => {
    expect(new Set(answers.map(({ name }) => name.split('/')[0])).size).toBe(5);
    expect(answers.every((answer) => finishAt(answer) > 0)).toBe(true);
  });

  it('fails, or is complete where nothing but what follows the finish reason was torn (property)', { timeout }, () => {
    const tears = fc.constantFrom(...answers).chain((answer) => {
      const torn = answer.lines.flatMap((line, at) => (line.startsWith('data: ') ? [at] : []));
      return fc.constantFrom(...torn).chain((at) =>
        fc
          .integer({ min: 1, max: (answer.lines[at] ?? '').length - 1 })
          .filter((length) => !nothingLeft.has((answer.lines[at] ?? '').slice(0, length)))
          .map((length) => ({ answer, at, length })),
      );
    });
    fc.assert(
      fc.property(tears, ({ answer, at, length }) => {
        const { status, output } = endingOf(
          answer.lines.map((line, index) => (index === at ? line.slice(0, length) : line)),
        );
        counts.tears += 1;
        if (status === 'failed') counts.failed += 1;
        else counts.completed += 1;
        if (at <= finishAt(answer)) expect(status).toBe('failed');
        // The answer itself may have been in what was torn.
        else if (status === 'failed') expect(output.filter(({ type }) => type !== 'reasoning')).toEqual([]);
        else expect({ status, output }).toEqual({ status: answer.status, output: answer.output });
      }),
      options,
    );
  });
});
