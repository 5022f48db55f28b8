import { scanJson } from '../../json/scan.ts';
import { retainable } from '../../memory/retainable.ts';
import type { ApiError } from '../../schema/api-error.ts';
import { type Disposition, emptyReport, type UpstreamBodyReader } from './upstream-body-reader.ts';

/** A reader whose body may reach the client as it came. */
export interface PassedReader extends UpstreamBodyReader {
  /** The client gets the upstream's own bytes, and so its headers. */
  isUntouched(): boolean;
}

const nothing = Buffer.alloc(0);

/**
 * Reads the answer to an operation that is passed, as a whole, and gives what `complete` makes of it; where that is null,
 * where it is not JSON or nested very deep, or where it is larger than `maxBytes`, the bytes as they came.
 */
export function createPassedReader(complete: (answer: unknown) => object | null, maxBytes: number): PassedReader {
  let pieces: Buffer[] = [];
  let size = 0;
  let disposition: Disposition = null;
  let untouched = false;
  let ended = false;
  let error: ApiError | null = null;

  function release(): Buffer {
    const bytes = Buffer.concat(pieces);
    pieces = [];
    disposition = 'accepted';
    untouched = true;
    return bytes;
  }

  return {
    push(bytes) {
      if (untouched) return bytes;
      pieces.push(retainable(bytes));
      size += bytes.length;
      return size > maxBytes ? release() : nothing;
    },
    start: () => nothing,
    end() {
      ended = true;
      if (disposition !== null) return nothing;
      const completed = complete(parsed(pieces));
      if (completed === null) return release();
      pieces = [];
      disposition = 'accepted';
      return Buffer.from(JSON.stringify(completed));
    },
    fail(failure) {
      ended = true;
      if (disposition === null) {
        pieces = [];
        error = failure;
        disposition = failure;
      }
      return nothing;
    },
    disposition() {
      return disposition;
    },
    isComplete() {
      return ended;
    },
    sawFinishReason: () => false,
    hasToken: () => false,
    bufferedBytes() {
      return pieces.length === 0 ? 0 : size;
    },
    report() {
      return { ...emptyReport, error };
    },
    isUntouched() {
      return untouched;
    },
  };
}

/** Levels of objects and arrays: lists of models have four. To write JSON takes stack for each, which reading it does not. */
const maxNesting = 128;

/** Null for what is not JSON, or is nested too deep. */
function parsed(pieces: readonly Buffer[]): unknown {
  const bytes = Buffer.concat(pieces);
  if (scanJson(bytes, { maxNesting }).tooDeepAt !== null) return null;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
