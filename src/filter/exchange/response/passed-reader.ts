import { GrowingBytes } from '../../memory/growing-bytes.ts';
import { scanJson } from '../../wire/json/scan.ts';
import type { ApiError } from '../../wire/schema/api-error.ts';
import { type Disposition, emptyReport, type UpstreamBodyReader } from './upstream-body-reader.ts';

/** A reader whose body may reach the client unchanged. */
export interface PassedReader extends UpstreamBodyReader {
  /** The client gets the upstream's own bytes, and so its headers. */
  isUntouched(): boolean;
}

const nothing = Buffer.alloc(0);

/**
 * Buffers the answer to an operation that is passed, and returns what `complete` makes of it; the original bytes if that is
 * null, or if the answer is not JSON, is nested very deep, or is larger than `maxBytes`. Of a larger one, the beginning is
 * returned as soon as that is known; the reader takes nothing more of it.
 */
export function createPassedReader(complete: (answer: unknown) => object | null, maxBytes: number): PassedReader {
  const body = new GrowingBytes();
  let disposition: Disposition = null;
  let untouched = false;
  let ended = false;

  function release(): Buffer {
    const bytes = body.whole();
    body.clear();
    disposition = 'accepted';
    untouched = true;
    return bytes;
  }

  function fail(failure: ApiError): Buffer {
    ended = true;
    body.clear();
    disposition = failure;
    return nothing;
  }

  return {
    push(bytes) {
      body.append(bytes);
      return body.length > maxBytes ? release() : nothing;
    },
    start: () => nothing,
    end() {
      ended = true;
      if (disposition !== null) return nothing;
      const completed = complete(parsed(body.whole()));
      if (completed === null) return release();
      body.clear();
      disposition = 'accepted';
      return Buffer.from(JSON.stringify(completed));
    },
    fail,
    shed: fail,
    keeps: () => 'received',
    disposition() {
      return disposition;
    },
    isComplete() {
      return ended;
    },
    sawFinishReason: () => false,
    hasToken: () => false,
    bufferedBytes() {
      return body.length;
    },
    outputTokens: () => 0,
    // An error is the disposition, which the leg reports.
    report: () => emptyReport,
    isUntouched() {
      return untouched;
    },
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
