import { describe, expect, it } from 'vitest';
import { EventStreamReader } from '../../../../../src/filter/exchange/response/event-stream-reader.ts';
import { endlessContext, endlessStreams, repeatingStreams } from '../../../../support/endless-streams.ts';
import { faultsOfStream } from '../../../../support/invariants.ts';
import { eventsOf } from '../../../../support/stream-lines.ts';
import { wholeOf } from '../../../../support/whole-of.ts';

const maxResponseBytes = 50_000;
const limits = { maxResponseBytes, maxErrorBytes: 1000, maxSseEventBytes: 100_000 };

function readerOf(context = endlessContext()): EventStreamReader {
  const options = {
    status: 200,
    contentType: 'text/event-stream',
    retryAfter: null,
    committed: false,
    mayReplaceStatus: true,
    limits,
  };
  return new EventStreamReader(context, { ...options, context });
}

/** Reads an endless stream until the client's is over; gives what the client got, and the most that was kept. */
function readOf(chunkOf: (index: number) => object, cumulativeDeltas: boolean): { client: string; mostKept: number } {
  const reader = readerOf(endlessContext({ cumulativeDeltas }));
  const client: Buffer[] = [];
  let mostKept = 0;
  for (let index = 0; !reader.state.isComplete; index++) {
    if (index === 200_000) throw new Error('the stream has no end');
    client.push(wholeOf(reader.push(Buffer.from(`data: ${JSON.stringify(chunkOf(index))}\n\n`))));
    mostKept = Math.max(mostKept, reader.state.bufferedBytes);
  }
  return { client: Buffer.concat(client).toString(), mostKept };
}

describe('an endless stream fails when more is kept of it than the limit', () => {
  it.each([
    ...endlessStreams.map(([name, chunkOf]) => [name, chunkOf, false] as const),
    ...repeatingStreams.map(([name, chunkOf]) => [name, chunkOf, true] as const),
  ])('%s', (_name, chunkOf, isRepeating) => {
    const { client, mostKept } = readOf(chunkOf, isRepeating);
    expect(eventsOf(client).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'upstream_response_too_large' } },
    });
    expect(faultsOfStream(client)).toEqual([]);
    // What the last chunk added, and what is made of the whole when it is closed.
    expect(mostKept).toBeLessThan(3 * maxResponseBytes);
  });
});

describe('an output larger than the limit', () => {
  const chunk = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const large = chunk({ content: 'x'.repeat(maxResponseBytes) }).repeat(2);

  it('is delivered when its end came with it: nothing more has to be kept for it', () => {
    const whole = readerOf()
      .push(Buffer.from(`${large}${chunk({}, 'stop')}data: [DONE]\n\n`))
      .toString();
    expect(eventsOf(whole).at(-1)).toMatchObject({ type: 'response.completed' });
    expect(faultsOfStream(whole)).toEqual([]);
  });

  it('fails the stream when its end has not come', () => {
    const reader = readerOf();
    const cut = reader.push(Buffer.from(`${large}${chunk({}, 'stop')}`)).toString();
    expect(reader.state.isComplete).toBe(true);
    expect(eventsOf(cut).at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'upstream_response_too_large' } },
    });
    expect(faultsOfStream(cut)).toEqual([]);
    expect(reader.push(Buffer.from('data: [DONE]\n\n'))).toHaveLength(0);
  });
});
