import { GrowingBytes } from '../../wire/bytes/growing-bytes.ts';
import { scanJson } from '../../wire/json/scan.ts';
import { AnswerState, type UpstreamBodyReader } from './upstream-body-reader.ts';

const nothing = Buffer.alloc(0);

/**
 * Buffers the answer to an operation that is passed, and returns what `complete` makes of it; the original bytes if that is
 * null, or if the answer is not JSON, is nested very deep, or is larger than `maxBytes`. Of a larger one, the beginning is
 * returned as soon as that is known; the reader takes nothing more of it.
 */
export function createPassedReader(complete: (answer: unknown) => object | null, maxBytes: number): UpstreamBodyReader {
  const body = new GrowingBytes();
  const state = new AnswerState();

  /** All that was buffered. */
  function taken(): Buffer {
    const bytes = body.whole();
    body.clear();
    state.bufferedBytes = 0;
    return bytes;
  }

  function release(bytes: Buffer): Buffer {
    state.disposition = 'untouched';
    return bytes;
  }

  return {
    push(bytes) {
      body.append(bytes);
      state.bufferedBytes = body.length;
      return body.length > maxBytes ? release(taken()) : nothing;
    },
    start: () => nothing,
    end(error) {
      state.isComplete = true;
      if (error === undefined && state.disposition !== null) return nothing;
      const bytes = taken();
      if (error !== undefined) {
        // The leg reports it.
        state.disposition = error;
        return nothing;
      }
      const completed = complete(parsed(bytes));
      if (completed === null) return release(bytes);
      state.disposition = 'translated';
      return Buffer.from(JSON.stringify(completed));
    },
    state,
  };
}

/**
 * Levels of objects and arrays: lists of models have four. Writing JSON takes stack for each level; reading it does not.
 */
const maxNesting = 128;

/** Null for what is not JSON, or is nested too deep. */
function parsed(bytes: Buffer): unknown {
  if (scanJson(bytes, { maxNesting }).tooDeepAt !== null) return null;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
