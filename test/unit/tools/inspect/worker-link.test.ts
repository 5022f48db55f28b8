import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createExchangeStore, type ExchangeStore } from '../../../../src/tools/inspect/store.ts';
import { detailOf, rowOf } from '../../../../src/tools/inspect/told-exchange.ts';
import { createWorkerRecords, createWorkerSink, type RecordUpdate } from '../../../../src/tools/inspect/worker-link.ts';
import { recordedFacts } from '../../../support/recorded-facts.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A worker that records, and a supervisor that gets its messages as JSON. */
function link({ reads = true } = {}) {
  const store = createExchangeStore();
  const records = createWorkerRecords((startedAt, worker) => store.open(startedAt, worker));
  const messages: (readonly RecordUpdate[])[] = [];
  let written = () => {};
  const sink = createWorkerSink((updates, sent) => {
    messages.push(updates);
    records.take(2, JSON.parse(JSON.stringify(updates)));
    if (reads) sent();
    else written = sent;
  });
  return { store, records, sink, messages, written: () => written() };
}

function only(store: ExchangeStore) {
  const [exchange] = [...store.list()];
  if (exchange === undefined) throw new Error('the store is empty');
  return exchange;
}

describe('a worker that records', () => {
  it('sends the pieces of many tokens in one message, and the supervisor has each with its time', () => {
    const { store, sink, messages } = link();
    const recording = sink.open(1_000);
    recording.head('chat_response', [':status', '200']);
    for (const [index, text] of ['é', '\n', '𝄞'].entries()) recording.piece('chat_response', index, Buffer.from(text));
    recording.piece('chat_response', 3, Buffer.from([0xff, 0x00]));
    vi.advanceTimersByTime(200);
    expect(messages).toHaveLength(1);
    expect(detailOf(only(store)).file.chat_response?.pieces).toEqual([
      { at_ms: 0, text: 'é' },
      { at_ms: 1, text: '\n' },
      { at_ms: 2, text: '𝄞' },
      { at_ms: 3, base64: '/wA=' },
    ]);
    expect(rowOf(only(store))).toMatchObject({ worker: 2, started_at: 1_000, outcome: 'running' });
  });

  it('sends what came before the end before the end', () => {
    const { store, sink } = link();
    const recording = sink.open(1);
    recording.piece('client_response', 1, Buffer.from('last'));
    recording.facts({ ...recordedFacts, outcome: 'completed' });
    vi.advanceTimersByTime(200);
    expect(rowOf(only(store))).toMatchObject({ outcome: 'completed', pieces: [0, 1] });
  });

  it('keeps no more than it may for a supervisor that does not read, and says what is missing', () => {
    const { store, sink, messages, written } = link({ reads: false });
    const recording = sink.open(1);
    vi.advanceTimersByTime(200);
    for (let index = 0; index < 40; index += 1) recording.piece('chat_response', index, Buffer.alloc(1024 * 1024, 'x'));
    vi.advanceTimersByTime(1_000);
    expect(messages).toHaveLength(1);
    written();
    vi.advanceTimersByTime(200);
    expect(messages).toHaveLength(2);
    expect(JSON.stringify(messages[1]).length).toBeLessThan(17 * 1024 * 1024);
    expect(detailOf(only(store)).omitted.chat_response).toBeGreaterThanOrEqual(24 * 1024 * 1024);
  });

  it('ends what it was doing when it exits', () => {
    const { store, records, sink } = link();
    sink.open(1);
    vi.advanceTimersByTime(200);
    records.workerExited(2, 'SIGKILL');
    expect(detailOf(only(store)).file).toMatchObject({
      outcome: 'aborted',
      error: { cause: 'worker 2 exited (SIGKILL)' },
    });
  });
});
