import { type ChunkPool, createChunkPool } from './chunk-memory.ts';
import { PieceLog } from './piece-log.ts';
import {
  type BodyName,
  bodyNames,
  type ExchangeFacts,
  type Head,
  type HeadChange,
  maxExchangeBytes,
  type Recording,
  type RecordingSink,
} from './recording.ts';
import type { StoredExchange } from './store.ts';

/** What a worker recorded since its last message, as the message to the supervisor has it. `id` is the worker's own. */
export type RecordUpdate =
  | { readonly type: 'open'; readonly id: number; readonly startedAt: number }
  | { readonly type: 'head'; readonly id: number; readonly body: BodyName; readonly head: Head }
  | {
      readonly type: 'changed_head';
      readonly id: number;
      readonly body: BodyName;
      readonly of: BodyName;
      readonly change: HeadChange;
    }
  | { readonly type: 'withdraw'; readonly id: number; readonly body: BodyName }
  | { readonly type: 'omit'; readonly id: number; readonly body: BodyName; readonly bytes: number }
  | { readonly type: 'facts'; readonly id: number; readonly facts: ExchangeFacts }
  /** Bytes as one character each: `ends` are the ends of the pieces in it. */
  | {
      readonly type: 'pieces';
      readonly id: number;
      readonly body: BodyName;
      readonly latin1: string;
      readonly ends: readonly number[];
      readonly times: readonly number[];
    };

/** How long recorded data waits for more, so that one message carries the pieces of many tokens. */
const sendIntervalMs = 100;
/** Bytes that may wait for a supervisor that does not read; anything more is counted and dropped. */
const maxWaitingBytes = 2 * maxExchangeBytes;

/**
 * In a worker: records by sending to the supervisor. `send` passes a message on and calls back when it has been written
 * or has failed.
 */
export function createWorkerSink(send: (updates: readonly RecordUpdate[], sent: () => void) => void): RecordingSink {
  const pool = createChunkPool();
  const changed = new Set<WorkerRecording>();
  let updates: RecordUpdate[] = [];
  let waitingBytes = 0;
  let sending = false;
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;

  function flush(): void {
    timer = undefined;
    if (sending) return; // called again when that one is written
    for (const recording of changed) recording.take(updates);
    changed.clear();
    if (updates.length === 0) return;
    const batch = updates;
    updates = [];
    waitingBytes = 0;
    sending = true;
    send(batch, () => {
      sending = false;
      if (changed.size > 0 || updates.length > 0) schedule();
    });
  }
  function schedule(): void {
    timer ??= setTimeout(flush, sendIntervalMs).unref();
  }
  const outbox: Outbox = {
    add(update) {
      updates.push(update);
      schedule();
    },
    touched(recording, bytes) {
      waitingBytes += bytes;
      changed.add(recording);
      if (timer === undefined) schedule();
    },
    hasRoom: (bytes) => waitingBytes + bytes <= maxWaitingBytes,
  };

  return {
    open(startedAt) {
      lastId += 1;
      const recording = new WorkerRecording(lastId, outbox, pool);
      outbox.add({ type: 'open', id: lastId, startedAt });
      return recording;
    },
  };
}

interface Outbox {
  add(update: RecordUpdate): void;
  touched(recording: WorkerRecording, bytes: number): void;
  hasRoom(bytes: number): boolean;
}

class WorkerRecording implements Recording {
  readonly #id: number;
  readonly #outbox: Outbox;
  readonly #log: PieceLog;

  constructor(id: number, outbox: Outbox, pool: ChunkPool) {
    this.#id = id;
    this.#outbox = outbox;
    this.#log = new PieceLog(pool);
  }

  head(body: BodyName, head: Head): void {
    this.#outbox.add({ type: 'head', id: this.#id, body, head });
  }

  changedHead(body: BodyName, of: BodyName, change: HeadChange): void {
    this.#outbox.add({ type: 'changed_head', id: this.#id, body, of, change });
  }

  withdraw(body: BodyName): void {
    this.#outbox.add({ type: 'withdraw', id: this.#id, body });
  }

  omit(body: BodyName, bytes: number): void {
    this.#outbox.add({ type: 'omit', id: this.#id, body, bytes });
  }

  facts(facts: ExchangeFacts): void {
    // Before the facts that end it: anything after that belongs to no exchange.
    if (facts.outcome !== null) this.#takeInto((update) => this.#outbox.add(update));
    this.#outbox.add({ type: 'facts', id: this.#id, facts });
  }

  piece(body: BodyName, atMs: number, bytes: Uint8Array): void {
    if (!this.#outbox.hasRoom(bytes.length)) {
      this.omit(body, bytes.length);
      return;
    }
    this.#log.push(body, atMs, bytes);
    this.#outbox.touched(this, bytes.length);
  }

  /** Moves the waiting pieces into the message. */
  take(updates: RecordUpdate[]): void {
    this.#takeInto((update) => updates.push(update));
  }

  #takeInto(add: (update: RecordUpdate) => void): void {
    for (const body of bodyNames)
      if (this.#log.count(body) > 0) add({ type: 'pieces', id: this.#id, body, ...this.#log.toTransfer(body) });
    this.#log.clear();
  }
}

/** In the supervisor: records what the workers send. */
export interface WorkerRecords {
  take(worker: number, updates: readonly RecordUpdate[]): void;
  /** The worker is gone, and its unfinished exchanges with it. */
  workerExited(worker: number, how: string): void;
}

/** Records what workers send with `open`, which takes the worker's number. */
export function createWorkerRecords(open: (startedAt: number, worker: number) => StoredExchange): WorkerRecords {
  const running = new Map<number, Map<number, StoredExchange>>();

  function apply(exchanges: Map<number, StoredExchange>, worker: number, update: RecordUpdate): void {
    if (update.type === 'open') {
      exchanges.set(update.id, open(update.startedAt, worker));
      return;
    }
    const exchange = exchanges.get(update.id);
    if (exchange === undefined) return;
    switch (update.type) {
      case 'head':
        exchange.head(update.body, update.head);
        return;
      case 'changed_head':
        exchange.changedHead(update.body, update.of, update.change);
        return;
      case 'withdraw':
        exchange.withdraw(update.body);
        return;
      case 'omit':
        exchange.omit(update.body, update.bytes);
        return;
      case 'facts':
        exchange.facts(update.facts);
        if (exchange.isOver) exchanges.delete(update.id);
        return;
      case 'pieces': {
        const bytes = Buffer.from(update.latin1, 'latin1');
        let start = 0;
        for (const [index, end] of update.ends.entries()) {
          exchange.piece(update.body, update.times[index] ?? 0, bytes.subarray(start, end));
          start = end;
        }
        return;
      }
    }
  }

  return {
    take(worker, updates) {
      const exchanges = running.get(worker) ?? new Map<number, StoredExchange>();
      running.set(worker, exchanges);
      for (const update of updates) apply(exchanges, worker, update);
      for (const [id, exchange] of exchanges) if (exchange.isDiscarded) exchanges.delete(id);
    },
    workerExited(worker, how) {
      for (const exchange of running.get(worker)?.values() ?? []) exchange.abort(`worker ${worker} exited (${how})`);
      running.delete(worker);
    },
  };
}
